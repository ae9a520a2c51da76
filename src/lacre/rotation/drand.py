"""The drand network: its chains, when a round is due, and its signatures (https://docs.drand.love).

A drand round is a BLS signature over the round's number by a group of independent organisations; nobody knows it
before its time, and anybody can check it with the chain's public key. The check needs the ``[beacon]`` extra;
everything else here does not.
"""

from __future__ import annotations

import hashlib
import sys
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import msgspec

from lacre.errors import InputError, IntegrityError

MOST_ROUNDS = 1 << 31  # two centuries of the fastest chain: past that, a slip of the pen

Scheme = Literal["pedersen-bls-chained", "pedersen-bls-unchained", "bls-unchained-g1-rfc9380"]

_DST_G1 = b"BLS_SIG_BLS12381G1_XMD:SHA-256_SSWU_RO_NUL_"
_DST_G2 = b"BLS_SIG_BLS12381G2_XMD:SHA-256_SSWU_RO_NUL_"


class UncheckedError(InputError):
    """The signature could not be checked, for the extra that checks it is not installed."""


class Chain(msgspec.Struct, frozen=True, kw_only=True):
    """One drand chain.

    Attributes:
        hash: its name, 64 hex digits.
        key: its public key, hex: a point of G1 (96 digits) where signatures are in G2, else of G2 (192).
        genesis: Unix seconds of its first round; ``period``: seconds between rounds.
    """

    name: str
    hash: str
    key: str
    genesis: int
    period: int
    scheme: Scheme

    def due(self, round: int) -> datetime:
        """When a round is published, in UTC.

        >>> CHAINS["quicknet"].due(1).isoformat()
        '2023-08-23T15:09:27+00:00'
        """
        return datetime.fromtimestamp(self.genesis, UTC) + timedelta(seconds=self.period * (round - 1))

    def round_from(self, when: datetime) -> int:
        """The first round that is published at ``when`` or later.

        >>> chain = CHAINS["default"]
        >>> chain.round_from(chain.due(72785))
        72785
        """
        passed = (when - datetime.fromtimestamp(self.genesis, UTC)) / timedelta(seconds=1)
        return max(1, -int(-passed // self.period) + 1)


# Read from the networks' own /info pages, as repeated in drand's client libraries; the hash is the trust root.
CHAINS = {
    chain.name: chain
    for chain in (
        Chain(
            name="quicknet",
            hash="52db9ba70e0cc0f6eaf7803dd07447a1f5477735fd3f661792ba94600c84e971",
            key=(
                "83cf0f2896adee7eb8b5f01fcad3912212c437e0073e911fb90022d3e760183c"
                "8c4b450b6a0a6c3ac6a5776a2d1064510d1fec758c921cc22b0e17e63aaf4bcb"
                "5ed66304de9cf809bd274ca73bab4af5a6e9c76a4bc09e76eae8991ef5ece45a"
            ),
            genesis=1692803367,
            period=3,
            scheme="bls-unchained-g1-rfc9380",
        ),
        Chain(
            name="default",
            hash="8990e7a9aaed2ffed73dbd7092123d6f289930540d7651336225dc172e51b2ce",
            key=(
                "868f005eb8e6e4ca0a47c8a77ceaa5309a47978a7c71bc5c"
                "ce96366b5d7a569937c529eeda66c7293784a9402801af31"
            ),
            genesis=1595431050,
            period=30,
            scheme="pedersen-bls-chained",
        ),
    )
}


class Beacon(msgspec.Struct, frozen=True, kw_only=True):
    """A drand round as its servers give it; fields that we do not know are left alone."""

    round: int
    signature: str
    randomness: str | None = None
    previous_signature: str | None = None

    def value(self) -> bytes:
        """The round's randomness: SHA-256 of its signature.

        Raises:
            IntegrityError: the randomness written beside it is another.
        """
        value = hashlib.sha256(_bytes(self.signature, "signature")).digest()
        if self.randomness is not None and self.randomness.lower() != value.hex():
            raise IntegrityError(
                f"drand round {self.round}: its randomness is not the SHA-256 of its signature. Fetch it anew."
            )
        return value


def verify(beacon: Beacon, chain: Chain) -> None:
    """Return when the round's signature is the chain's; needs the ``[beacon]`` extra.

    Raises:
        IntegrityError: it is not.
        UncheckedError: the extra is not installed.
    """
    limit = sys.getrecursionlimit()
    try:
        # Imported here: it is an extra, and takes a second to load.
        from py_ecc.fields import optimized_bls12_381_FQ12 as FQ12  # noqa: PLC0415
        from py_ecc.optimized_bls12_381.optimized_curve import G1, G2, neg  # noqa: PLC0415
        from py_ecc.optimized_bls12_381.optimized_pairing import final_exponentiate, pairing  # noqa: PLC0415
    except ModuleNotFoundError:
        raise UncheckedError(
            "drand", "signatures cannot be checked without py_ecc", "Run: pip install 'lacre[beacon]'"
        ) from None
    finally:
        # py_ecc lifts the limit a hundredfold on import; with it, nested JSON from outside would end the process.
        sys.setrecursionlimit(limit)
    try:
        key, signature, hashed = _points(beacon, chain)
    except ValueError as error:
        raise IntegrityError(f"drand round {beacon.round}: {error}. Fetch it anew.") from None
    if chain.scheme == "bls-unchained-g1-rfc9380":
        product = pairing(key, hashed, False) * pairing(neg(G2), signature, False)
    else:
        product = pairing(hashed, key, False) * pairing(signature, neg(G1), False)
    if final_exponentiate(product) != FQ12.one():
        raise IntegrityError(
            f"drand round {beacon.round}: its signature is not that of chain {chain.name}. "
            "Fetch it anew, from that chain."
        )


def _points(beacon: Beacon, chain: Chain) -> tuple[Any, Any, Any]:
    """The public key, the signature and the hashed message as points of the curve.

    Raises:
        ValueError: a point is none, or lies outside its group.
    """
    from py_ecc.bls.g2_primitives import subgroup_check  # noqa: PLC0415
    from py_ecc.bls.hash_to_curve import hash_to_G1, hash_to_G2  # noqa: PLC0415
    from py_ecc.optimized_bls12_381.optimized_curve import is_inf  # noqa: PLC0415

    on_g1 = chain.scheme == "bls-unchained-g1-rfc9380"
    hash_function: Any = hashlib.sha256  # py_ecc's annotation names its result instead
    hashed = (hash_to_G1 if on_g1 else hash_to_G2)(
        _message(beacon, chain), _DST_G1 if on_g1 else _DST_G2, hash_function
    )
    key = (_g2 if on_g1 else _g1)(_bytes(chain.key, "public key"))
    signature = (_g1 if on_g1 else _g2)(_bytes(beacon.signature, "signature"))
    for point, name in ((key, "public key"), (signature, "signature")):
        if is_inf(point) or not subgroup_check(point):
            raise ValueError(f"the {name} is not in its group")
    return key, signature, hashed


def _message(beacon: Beacon, chain: Chain) -> bytes:
    """What the round signs: the SHA-256 of its number, chained schemes put the previous signature before it."""
    number = beacon.round.to_bytes(8, "big")
    if chain.scheme != "pedersen-bls-chained":
        return hashlib.sha256(number).digest()
    if not beacon.previous_signature:
        raise ValueError("a chained round needs its previous signature")
    return hashlib.sha256(_bytes(beacon.previous_signature, "previous signature") + number).digest()


def _g1(content: bytes) -> Any:
    """A point of G1 from its 48 compressed bytes."""
    from py_ecc.bls.point_compression import decompress_G1  # noqa: PLC0415
    from py_ecc.bls.typing import G1Compressed  # noqa: PLC0415

    if len(content) != 48:
        raise ValueError("a point of G1 has not 48 bytes")
    return decompress_G1(G1Compressed(int.from_bytes(content, "big")))


def _g2(content: bytes) -> Any:
    """A point of G2 from its 96 compressed bytes."""
    from py_ecc.bls.point_compression import decompress_G2  # noqa: PLC0415
    from py_ecc.bls.typing import G2Compressed  # noqa: PLC0415

    if len(content) != 96:
        raise ValueError("a point of G2 has not 96 bytes")
    halves = int.from_bytes(content[:48], "big"), int.from_bytes(content[48:], "big")
    return decompress_G2(G2Compressed(halves))


def _bytes(text: str, name: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise IntegrityError(f"drand: the {name} is not hex. Fetch it anew.") from None
