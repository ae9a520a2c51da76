"""drand's signatures are checked against values that its own clients are tested with."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from importlib.util import find_spec

import msgspec
import pytest

from lacre.errors import IntegrityError
from lacre.rotation.drand import CHAINS, Beacon, Chain, Scheme, verify

# Looked for, not imported: py_ecc lifts the recursion limit of the whole process.
pytestmark = pytest.mark.skipif(find_spec("py_ecc") is None, reason="the [beacon] extra is not installed")


def chain(key: str, scheme: Scheme) -> Chain:
    return Chain(name="test", hash="0" * 64, key=key, genesis=0, period=1, scheme=scheme)


# drand-verify's README (noislabs), round 1337 of the League of Entropy's first chain.
DEFAULT = Beacon(
    round=1337,
    previous_signature="80d95247ddf1bb3acf5738497a5f10406be283144603f63d714bb1a44ff6b93285ae2697fffeb50c68862bd9fbecd4b2"
    "04b1798d2686b4ac5d573615031d9d67e6168bde9a7adf1161430a498ca701a25c216aee3e38ffd5290369034fa050a2",
    signature="945b08dcb30e24da281ccf14a646f0630ceec515af5c5895e18cc1b19edd65d156b71c776a369af3487f1bc6af106250"
    "0b059e01095cc0eedce91713977d7735cac675554edfa0d0481bb991ed93d333d08286192c05bf6b65d20f23a37fc7bb",
    randomness="2660664f8d4bc401194d80d81da20a1e79480f65b8e2d205aecbd143b5bfb0d3",
)
# python-drand-verify's README, round 657413 of quicknet.
QUICKNET = Beacon(
    round=657413,
    signature="b713718a38ae728dfd477991af2822e08d2f305e47718cef9f7848ce4050e7be41076862b98fad56e91a6b85b89cd97b",
    randomness="fc1873a13f3545aeade8401532ef5519920652eee6b0d2b19ca12643b87b3587",
)
# drand-client (JavaScript), tests of beacon verification.
UNCHAINED = Beacon(
    round=19369534,
    signature="a33833d2098f5e0c4df334fb6c5b1c2de3ab293c77825f55d816254dabf7f4f3d429b6207e1cd2a808876e06058a1f81"
    "02bb6f6927b654b391259ea99c3566a4eb55feb9665dbaf9d33af08a10b1d8d8b35d91fd3536eb4c197be0041beb5dc2",
    randomness="778180564f4fb9b77580af69a559ce941eb23d8d3180c48c4d290484b516c6aa",
)
UNCHAINED_CHAIN = chain(
    "8200fc249deb0148eb918d6e213980c5d01acd7fc251900d9260136da3b54836ce125172399ddc69c4e3e11429b62c11",
    "pedersen-bls-unchained",
)
CASES = [
    pytest.param(DEFAULT, CHAINS["default"], id="chained"),
    pytest.param(QUICKNET, CHAINS["quicknet"], id="unchained, on G1"),
    pytest.param(UNCHAINED, UNCHAINED_CHAIN, id="unchained, on G2"),
]


@pytest.mark.parametrize(("beacon", "chain"), CASES)
def test_a_true_round_is_accepted_with_its_randomness(beacon: Beacon, chain: Chain) -> None:
    verify(beacon, chain)
    assert beacon.value().hex() == beacon.randomness


@pytest.mark.parametrize(("beacon", "chain"), CASES)
def test_another_round_s_number_is_refused(beacon: Beacon, chain: Chain) -> None:
    with pytest.raises(IntegrityError, match="its signature is not that of chain"):
        verify(msgspec.structs.replace(beacon, round=beacon.round + 1), chain)


def test_another_previous_signature_is_refused() -> None:
    with pytest.raises(IntegrityError, match="its signature is not that of chain default"):
        verify(msgspec.structs.replace(DEFAULT, previous_signature=DEFAULT.signature), CHAINS["default"])


def test_a_chained_round_needs_its_previous_signature() -> None:
    with pytest.raises(IntegrityError, match="needs its previous signature"):
        verify(msgspec.structs.replace(DEFAULT, previous_signature=None), CHAINS["default"])


@pytest.mark.parametrize(
    ("signature", "said"),
    [
        ("zz", "is not hex"),
        ("00", "has not 48 bytes"),
        ("c0" + "00" * 47, "is not in its group"),
        ("ff" * 48, "Fetch it anew"),
        (DEFAULT.signature, "has not 48 bytes"),
    ],
)
def test_what_is_no_signature_is_refused(signature: str, said: str) -> None:
    with pytest.raises(IntegrityError, match=said):
        verify(msgspec.structs.replace(QUICKNET, signature=signature), CHAINS["quicknet"])


def test_randomness_that_is_not_the_signature_s_is_refused() -> None:
    with pytest.raises(IntegrityError, match="not the SHA-256 of its signature"):
        msgspec.structs.replace(QUICKNET, randomness="00" * 32).value()


@pytest.mark.parametrize(
    ("name", "round", "due"),
    [
        ("quicknet", 1, datetime(2023, 8, 23, 15, 9, 27, tzinfo=UTC)),
        # A protocol that pinned this round of the first chain announced it for 00:31:00.
        ("default", 6311188, datetime(2026, 7, 23, 0, 31, 0, tzinfo=UTC)),
    ],
)
def test_the_hour_of_a_round(name: str, round: int, due: datetime) -> None:
    assert CHAINS[name].due(round) == due
    assert CHAINS[name].round_from(due) == round
    assert CHAINS[name].due(CHAINS[name].round_from(due.replace(microsecond=1))) > due


def test_checking_leaves_the_recursion_limit_as_it_was() -> None:
    before = sys.getrecursionlimit()
    verify(QUICKNET, CHAINS["quicknet"])
    assert sys.getrecursionlimit() == before
