"""What is damaged, swapped, missing or another's is named; one clear line, the right exit code."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from tests.sealing.faults import MARKER, leaks
from tests.sealing.making import empty_vault, private

from lacre.cli import run
from lacre.errors import Exit, InputError, IntegrityError
from lacre.sealing import ages
from lacre.sealing.ages import Identity, new_identity, read_identity, write_identity
from lacre.sealing.contents import Sealed
from lacre.sealing.inspection import inspect
from lacre.sealing.vault import open_vault


def filled(folder: Path) -> Identity:
    """A vault with items a, b and c and a document."""
    identity = empty_vault(folder)
    with open_vault(folder, identity) as vault, vault.change() as change:
        change.add([private("a", stem=f"Que é a {MARKER}?"), private("b"), private("c")], "1")
        change.keep("notes", b"kept")
    return identity


def faults(folder: Path, identity: Identity) -> list[str]:
    with open_vault(folder, identity) as vault:
        return list(inspect(vault).faults)


@pytest.mark.parametrize("place", [0, 30, 100, 250, 400, 1000, 4000, -1])
def test_one_changed_byte_of_an_item_s_file_is_named(place: int, tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    identity = filled(folder)
    path = folder / "items/a.age"
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)
    (said,) = faults(folder, identity)
    assert said.startswith(f"{path}: ")
    assert MARKER not in said


def test_two_swapped_files_are_both_named(tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    identity = filled(folder)
    first, second = folder / "items/a.age", folder / "items/b.age"
    content = first.read_bytes()
    first.write_bytes(second.read_bytes())
    second.write_bytes(content)
    said = faults(folder, identity)
    assert [line.split(": ")[1] for line in said] == [
        "holds item 'b'", "holds item 'a'"
    ]  # fmt: skip
    assert all("two files were swapped" in line for line in said)


def resealed(folder: Path, identity: Identity, change: Callable[[dict[str, object]], None]) -> None:
    """Item a's file, sealed anew with something changed by whoever can open the vault."""
    path = folder / "items/a.age"
    values = msgspec.json.decode(ages.unseal(path.read_bytes(), identity, path))
    change(values)
    path.write_bytes(ages.seal(msgspec.json.encode(values), [identity.recipient]))


def no_nonce(values: dict[str, object]) -> None:
    del values["nonce"]


def other_nonce(values: dict[str, object]) -> None:
    values["nonce"] = "00" * 32


def other_secret(values: dict[str, object]) -> None:
    values["secret"] = "00" * 32


def other_batch(values: dict[str, object]) -> None:
    values["batch"] = "2"


def nothing(values: dict[str, object]) -> None:
    values.clear()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (no_nonce, "holds no nonce"),
        (other_nonce, "is not the item that was committed to"),
        (other_secret, "was not sealed by this vault"),
        (other_batch, "is an older or a newer copy"),
        (nothing, "holds no "),
    ],
)
def test_a_file_with_something_else_in_it_is_named(
    change: Callable[[dict[str, object]], None], said: str, tmp_path: Path
) -> None:
    folder = tmp_path / "vault"
    identity = filled(folder)
    resealed(folder, identity, change)
    (fault,) = faults(folder, identity)
    assert f"items/a.age: {said}" in fault
    assert MARKER not in fault


def test_what_is_missing_or_does_not_belong_is_named_and_left(tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    identity = filled(folder)
    (folder / "items/b.age").unlink()
    next((folder / "documents").iterdir()).unlink()
    (folder / "items/z.age").write_bytes(b"")
    (folder / "items/z.age").chmod(0o644)
    said = "\n".join(faults(folder, identity))
    for each in ("items/b.age: is missing", "documents/", "items/z.age: does not belong here", "mode 644"):
        assert each in said
    assert (folder / "items/z.age").exists()


def test_an_older_copy_put_back_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    identity = filled(folder)
    path = folder / "items/a.age"
    older = path.read_bytes()
    with open_vault(folder, identity) as vault, vault.change() as change:
        change.replace(msgspec.structs.replace(vault.sealed("a").item, cell={"area": "x"}))
    path.write_bytes(older)
    (said,) = faults(folder, identity)
    assert "is an older or a newer copy" in said


def test_a_stranger_who_knows_the_recipients_cannot_plant_an_item(tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    identity = filled(folder)
    with open_vault(folder, identity) as vault:
        sealed = vault.sealed("b")
    planted = msgspec.structs.replace(sealed, secret="12" * 32)
    (folder / "items/b.age").write_bytes(ages.seal(msgspec.json.encode(planted), [identity.recipient]))
    (said,) = faults(folder, identity)
    assert "was not sealed by this vault" in said
    assert isinstance(planted, Sealed)


def test_a_stranger_cannot_plant_an_intent(tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    identity = filled(folder)
    forged = b'{"secrets":["' + b"0" * 64 + b'"],"removals":["items/a.age"]}'
    (folder / "journal/intent.age").write_bytes(ages.seal(forged, [identity.recipient]))
    with pytest.raises(IntegrityError, match="holds the intent of another vault"):
        open_vault(folder, identity).__enter__()
    (folder / "journal/intent.age").write_bytes(ages.seal(b"{}", [identity.recipient]))
    with pytest.raises(IntegrityError, match="is no intent of this vault"):
        open_vault(folder, identity).__enter__()
    assert (folder / "items/a.age").exists()


@pytest.mark.parametrize(
    ("break_it", "error", "said"),
    [
        (lambda folder: (folder / "vault.json").unlink(), InputError, "is no vault"),
        (lambda folder: (folder / "vault.json").write_text("{}"), IntegrityError, "vault.json: holds no"),
        (lambda folder: (folder / "index.age").unlink(), IntegrityError, "index.age: cannot be read"),
        (lambda folder: (folder / "index.age").write_bytes(b"x"), IntegrityError, "index.age: is damaged"),
    ],
)
def test_a_vault_without_its_head_is_named(
    break_it: Callable[[Path], object], error: type[Exception], said: str, tmp_path: Path
) -> None:
    identity = filled(tmp_path / "vault")
    break_it(tmp_path / "vault")
    with pytest.raises(error, match=said):
        open_vault(tmp_path / "vault", identity).__enter__()


def test_the_index_of_another_vault_is_refused(tmp_path: Path) -> None:
    identity = filled(tmp_path / "vault")
    shutil.copytree(tmp_path / "vault", tmp_path / "other")
    shutil.rmtree(tmp_path / "vault")
    filled(tmp_path / "vault")
    shutil.copy(tmp_path / "other/index.age", tmp_path / "vault/index.age")
    with pytest.raises(IntegrityError, match="is the index of another vault"):
        open_vault(tmp_path / "vault", identity).__enter__()


def test_a_wrong_identity_and_another_workspace_are_refused(tmp_path: Path) -> None:
    identity = filled(tmp_path / "vault")
    with pytest.raises(InputError, match="does not open with this identity"):
        open_vault(tmp_path / "vault", new_identity()).__enter__()
    with pytest.raises(InputError, match="is the vault of another workspace"):
        open_vault(tmp_path / "vault", identity, workspace="cd" * 32).__enter__()


def test_a_second_process_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    identity = filled(tmp_path / "vault")
    write_identity(tmp_path / "me.txt", identity)
    with open_vault(tmp_path / "vault", identity):
        code = run(["vault", "check", str(tmp_path / "vault"), "--identity", str(tmp_path / "me.txt")])
    assert code == Exit.BAD_INPUT
    assert "another process has the vault. Wait until it is done." in capsys.readouterr().err


def test_identities_come_from_files_that_only_their_owner_reads(tmp_path: Path) -> None:
    identity = new_identity()
    path = tmp_path / "me.txt"
    write_identity(path, identity)

    def asked(question: str) -> str:
        return str(identity.secret) if "Identity" in question else "senha"

    assert read_identity(path, asked).recipient == identity.recipient
    assert read_identity(None, asked).recipient == identity.recipient
    assert "SECRET" not in repr(identity)
    import pyrage  # type: ignore[import-untyped]  # noqa: PLC0415

    sealed = tmp_path / "sealed.age"
    sealed.write_bytes(pyrage.passphrase.encrypt(path.read_bytes(), "senha"))
    sealed.chmod(0o600)
    assert read_identity(sealed, asked).recipient == identity.recipient
    with pytest.raises(InputError, match="does not open with this passphrase"):
        read_identity(sealed, lambda _: "outra")
    path.chmod(0o640)
    with pytest.raises(InputError, match="can be read by others"):
        read_identity(path, asked)
    with pytest.raises(InputError, match="is there already"):
        write_identity(path, identity)
    secret = str(identity.secret)
    with pytest.raises(InputError, match="shell's history") as caught:
        read_identity(Path(secret), asked)
    assert secret not in str(caught.value)
    path.chmod(0o600)
    for text, said in (
        ("", "holds no age identity"),
        (f"{secret}\n{secret}", "more than one"),
        ("AGE-SECRET-KEY-1X", "no age"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=said):
            read_identity(path, asked)


def test_no_fault_leaves_a_private_word(tmp_path: Path) -> None:
    identity = filled(tmp_path / "vault")
    resealed(tmp_path / "vault", identity, no_nonce)
    assert leaks(tmp_path) == []
