"""Keys in the ledger: the old one signs the new one, a retired one signs nothing, nobody else signs at all."""

from __future__ import annotations

import msgspec
import pytest

from lacre.errors import IntegrityError
from lacre.registry.events import Event, Genesis, Incident, KeyAdd, KeyRetire
from lacre.registry.ledger import Ledger, chained, line_bytes, parse
from lacre.sealing.keyring import check_head, keyring, sign_head
from lacre.sealing.keys import SigningKey, key_from

AT = "2026-01-31T12:00:00Z"
OLD, NEW, FOREIGN = (key_from(bytes([n]) * 32) for n in (1, 2, 3))


def add(signing: SigningKey, /, **changes: str) -> KeyAdd:
    values = {"fingerprint": signing.fingerprint, "key": signing.public.text, "name": "operator"}
    return KeyAdd(**(values | changes))


def retire(key: SigningKey) -> KeyRetire:
    return KeyRetire(fingerprint=key.fingerprint, reason="rotated")


def ledger(*steps: tuple[Event, SigningKey | None]) -> Ledger:
    made = chained(Ledger((), b""), [Genesis(workspace="ab" * 32)], at=AT)
    for event, signer in steps:
        made = chained(made, [event], at=AT, signer=signer)
    return made


def test_the_old_key_signs_the_new_one_and_then_rests() -> None:
    ring = keyring(ledger((add(OLD), OLD), (add(NEW), OLD), (retire(OLD), NEW), (Incident(what="!"), NEW)))
    assert set(ring.active) == {NEW.fingerprint}
    assert set(ring.known) == {OLD.fingerprint, NEW.fingerprint}
    assert set(ring.at(3)) == {OLD.fingerprint, NEW.fingerprint}


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([(add(OLD), NEW)], "2: adds the first key, and is not signed by it"),
        ([(add(OLD), OLD), (add(NEW), NEW)], "3: is signed by key"),
        ([(add(OLD), OLD), (Incident(what="!"), FOREIGN)], "3: is signed by key"),
        ([(add(OLD), OLD), (retire(OLD), OLD), (Incident(what="!"), OLD)], "4: is signed by key"),
        ([(add(OLD), OLD), (add(OLD), OLD)], "3: adds a key that was added before"),
        ([(add(OLD), OLD), (retire(NEW), OLD)], "3: retires a key that is not active"),
        (
            [(add(OLD, fingerprint=NEW.fingerprint), OLD)],
            "2: adds a key under a fingerprint that is not its own",
        ),
        ([(add(OLD, key="bm90aGluZw=="), OLD)], "2: adds something that is no Ed25519 public key"),
        ([(Incident(what="!"), OLD)], "2: is signed by key"),
    ],
)
def test_whoever_may_not_sign_is_named(steps: list[tuple[Event, SigningKey]], said: str) -> None:
    with pytest.raises(IntegrityError, match=f"ledger:{said}"):
        keyring(ledger(*steps))


@pytest.mark.parametrize("sig", ["AAAA", "no base64", "A" * 86 + "=="])
def test_a_forged_signature_is_named(sig: str) -> None:
    made = ledger((add(OLD), OLD), (Incident(what="!"), OLD))
    forged = msgspec.structs.replace(made.lines[-1], sig=sig)
    content = made.content[: -len(line_bytes(made.lines[-1]))] + line_bytes(forged)
    with pytest.raises(IntegrityError, match=r"ledger:3: (was changed: key|has a signature)"):
        keyring(parse(content, "ledger"))


def test_a_head_signed_by_a_key_that_could_not_is_refused() -> None:
    made = ledger((add(OLD), OLD), (add(NEW), OLD), (retire(OLD), NEW), (Incident(what="!"), None))
    ring = keyring(made)
    with pytest.raises(IntegrityError, match="could not sign when the ledger had 5 lines"):
        check_head(sign_head(made, OLD), made, ring, "head")
    with pytest.raises(IntegrityError, match="which is not trusted here"):
        check_head(sign_head(made, FOREIGN), made, ring, "head")
