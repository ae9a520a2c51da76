"""Commitments to the scores of a sealed run, and their openings (SPEC X4).

A leaf of the run's tree is ``"LACRE-SCORE-v1\\0" || nonce[32] || JCS(score)``, so that its hash is
SHA-256(0x00 || leaf) as RFC 6962 has it. The nonce is random for each leaf: without it an outcome, of which there are
five, could be guessed from the hash. Leaves are sorted by column, item and repetition.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from lacre.digest import canonical, included, inclusion_proofs, merkle_root, sha256
from lacre.engine.replies import Answered, Failed, Refused, Reply, Truncated
from lacre.registry.events import Hash, Text
from lacre.registry.records import Record
from lacre.scoring.outcomes import Outcome

PREFIX = b"LACRE-SCORE-v1\0"
NONCE_BYTES = 32


class Said(Record, omit_defaults=False):
    """What a column said to one question, as far as scoring reads it.

    Attributes:
        part: of an open item, "" when it has none.
        kind: answered, refused, truncated or failed.
        text: the column's own, "" when none came.
        cause: why it failed.
    """

    part: str
    kind: Literal["answered", "refused", "truncated", "failed"]
    text: str
    cause: str | None = None


class Score(Record, omit_defaults=False):
    """One committed score.

    Attributes:
        outcome: the class; of an item with parts, the one that all of them share.
        score: a decimal of an open item, none where the class says all.
        by: the rule read it, or it counts as was said for what the rule cannot read.
    """

    run: Text
    column: Text
    item: Text
    repetition: int
    outcome: Outcome
    score: str | None
    reply_sha256: Hash
    by: Literal["rule", "said"] = "rule"


class OpenedScore(Record, omit_defaults=False):
    """What opens one leaf to everybody: the score, its nonce, the replies behind it, and the way to the root."""

    score: Score
    nonce: Hash
    replies: tuple[Said, ...]
    place: int
    size: int
    proof: tuple[Hash, ...]


def said(part: str, reply: Reply) -> Said:
    """What of a reply scoring reads.

    >>> from lacre.engine.replies import Delivery
    >>> reply = Failed(cause="timeout", detail="-", delivery=Delivery(status=None, attempts=5, latency=1.0))
    >>> said("", reply)
    Said(part='', kind='failed', text='', cause='timeout')
    """
    match reply:
        case Answered():
            return Said(part=part, kind="answered", text=reply.text)
        case Refused():
            return Said(part=part, kind="refused", text=reply.text)
        case Truncated():
            return Said(part=part, kind="truncated", text=reply.text)
        case Failed():
            return Said(part=part, kind="failed", text="", cause=reply.cause)


def replies_digest(replies: Sequence[Said]) -> str:
    """The SHA-256 of the canonical JSON of what a column said to an item, part by part; 64 hex digits.

    >>> replies_digest([Said(part="", kind="answered", text="B")])[:16]
    '071e2b01a8df4acc'
    """
    return sha256(canonical(tuple(replies)))


def leaf(score: Score, nonce: bytes) -> bytes:
    """The bytes of a leaf.

    Raises:
        ValueError: the nonce is not 32 bytes.
    """
    if len(nonce) != NONCE_BYTES:
        raise ValueError(f"a nonce has {NONCE_BYTES} bytes, not {len(nonce)}")
    return PREFIX + nonce + canonical(score)


def order(score: Score) -> tuple[str, str, int]:
    """By what leaves are sorted: column, item and repetition."""
    return score.column, score.item, score.repetition


def leaves(scores: Sequence[Score], nonces: Mapping[tuple[str, str, int], bytes]) -> list[bytes]:
    """The leaves of a run in their order; ``nonces``: by column, item and repetition."""
    return [leaf(score, nonces[order(score)]) for score in sorted(scores, key=order)]


def score_root(scores: Sequence[Score], nonces: Mapping[tuple[str, str, int], bytes]) -> str:
    """The Merkle root over the scores of a run, 64 hex digits."""
    return merkle_root(leaves(scores, nonces))


def open_scores(
    scores: Sequence[Score],
    nonces: Mapping[tuple[str, str, int], bytes],
    replies: Mapping[tuple[str, str, int], Sequence[Said]],
    opened: frozenset[str],
) -> tuple[OpenedScore, ...]:
    """What opens the scores of the items in ``opened``, in the order of the leaves."""
    ordered = sorted(scores, key=order)
    tree = leaves(ordered, nonces)
    places = [place for place, score in enumerate(ordered) if score.item in opened]
    proofs = inclusion_proofs(tree, places)
    return tuple(
        OpenedScore(
            score=ordered[place],
            nonce=nonces[order(ordered[place])].hex(),
            replies=tuple(replies[order(ordered[place])]),
            place=place,
            size=len(tree),
            proof=proof,
        )
        for place, proof in zip(places, proofs, strict=True)
    )


def proves(opened: OpenedScore, root: str) -> bool:
    """Whether an opened score stands in the tree of ``root``.

    >>> score = Score(run="r", column="m", item="p", repetition=1, outcome=Outcome.CORRECT, score=None,
    ...     reply_sha256=replies_digest(()))
    >>> nonces = {("m", "p", 1): bytes(32)}
    >>> [one] = open_scores([score], nonces, {("m", "p", 1): ()}, frozenset({"p"}))
    >>> proves(one, score_root([score], nonces)), proves(one, "00" * 32)
    (True, False)
    """
    content = leaf(opened.score, bytes.fromhex(opened.nonce))
    return included(content, opened.place, opened.size, opened.proof, root)


def matches(opened: OpenedScore) -> bool:
    """Whether the replies beside an opened score are those that it was given for."""
    return replies_digest(opened.replies) == opened.score.reply_sha256
