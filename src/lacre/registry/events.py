"""The events of the ledger, one record for each type. All are public: none may hold a private word.

Ids are those of the workspace; hashes are SHA-256, 64 lower-case hex digits; when an event happened stands
on its line, not in it.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from lacre.registry.records import Record

Hash = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Text = Annotated[str, msgspec.Meta(min_length=1)]
Why = Literal["draw", "age", "leak", "exposure", "defect", "passage", "void", "supersede"]
Count = Annotated[int, msgspec.Meta(ge=0)]


class Genesis(Record, tag_field="type", tag="genesis"):
    """The first line: a random number that tells this workspace from every other, as 64 hex digits."""

    workspace: Hash
    format: Literal["lacre-ledger-1"] = "lacre-ledger-1"


class KeyAdd(Record, tag_field="type", tag="key_add"):
    """A key that may sign from here on. Its line is signed: the first by itself, others by an active key.

    Attributes:
        fingerprint: SHA-256 of the raw public key. ``key``: those 32 bytes in base64.
        name: whose it is, or what for.
    """

    fingerprint: Hash
    key: Text
    name: Text


class KeyRetire(Record, tag_field="type", tag="key_retire"):
    """A key that may not sign from here on. Its line is signed by an active key."""

    fingerprint: Hash
    reason: Text


class BatchCommit(Record, tag_field="type", tag="batch_commit"):
    """Private items of one batch were sealed.

    Attributes:
        items: how many. ``root``: Merkle root over their public rows, sorted by id.
    """

    benchmark: Text
    batch: Text
    items: Count
    root: Hash


class Supersede(Record, tag_field="type", tag="supersede"):
    """A private item was replaced by a corrected one under a new id; the old commitment still ends opened."""

    benchmark: Text
    item: Text
    commitment: Hash
    by: Text
    by_commitment: Hash
    reason: Text


class Freeze(Record, tag_field="type", tag="freeze"):
    """The ground of a draw was fixed, and which future public randomness will decide it.

    Attributes:
        freeze: SHA-256 of the signed freeze file. ``beacon``: the source and the number of its draw.
        due: when that randomness becomes public (UTC).
    """

    benchmark: Text
    round: Text
    freeze: Hash
    items: Count
    beacon: Text
    due: Text


class Split(Record, tag_field="type", tag="split"):
    """A draw was carried out: the first split, or a rotation.

    Attributes:
        freeze: SHA-256 of the freeze file it carries out. ``randomness``: as published, in lower-case hex.
        opened, kept: numbers of items. ``openings``: SHA-256 of the file of openings. ``draw``: that of the
            file that says how the draw went, and names the randomness's file by its own.
        root: Merkle root over the rows that stay private.
    """

    benchmark: Text
    round: Text
    freeze: Hash
    randomness: Text
    seed: Hash
    opened: Count
    kept: Count
    openings: Hash
    draw: Hash
    root: Hash


class Open(Record, tag_field="type", tag="open"):
    """One private item was opened, and why: drawn, at the age cap, forced, or with another it belongs to."""

    benchmark: Text
    round: Text
    item: Text
    commitment: Hash
    why: Why


class Void(Record, tag_field="type", tag="void"):
    """A private item counts no longer; its commitment still ends opened."""

    benchmark: Text
    item: Text
    commitment: Hash
    reason: Text


class Waiver(Record, tag_field="type", tag="waiver"):
    """A person answers for an item that vetting did not keep. Its line is signed.

    Attributes:
        digest: the text it is about: a private item's commitment, else SHA-256 of the canonical payload.
        verdict: what vetting had said. ``corpora``: those for which it holds; empty for all.
    """

    benchmark: Text
    item: Text
    digest: Hash
    verdict: Text
    who: Text
    reason: Text
    corpora: tuple[str, ...] = ()


class RunIntent(Record, tag_field="type", tag="run_intent"):
    """A sealed run is about to begin: what will be asked of whom, before any answer is known.

    Attributes:
        root: Merkle root over the public rows of its items. ``templates``: SHA-256 of the hashes of its messages.
        round: the closing that comes next, such as ``exemplo/2``. ``card``: SHA-256 of what the card asks, and where.
        tables: SHA-256 of the file that says which counts may leave in this round.
    """

    benchmark: Text
    run: Text
    column: Text
    items: Count
    root: Hash
    templates: Hash
    round: str | None = None
    card: Hash | None = None
    tables: Hash | None = None


class RunResult(Record, tag_field="type", tag="run_result"):
    """What a sealed run gave.

    Attributes:
        intent: hash of its run_intent line. ``scores``: Merkle root over its scores; ``leaves``: how many.
        answered, failed: none where the set is so small that they would tell of its items; the record has counts.
        record: SHA-256 of the file with what may be known of it.
    """

    benchmark: Text
    run: Text
    intent: Hash
    scores: Hash
    answered: Count | None = None
    failed: Count | None = None
    leaves: Count | None = None
    record: Hash | None = None


class RunAbort(Record, tag_field="type", tag="run_abort"):
    """A sealed run was given up, and why; it counts as its column's run of the round.

    Attributes:
        intent: hash of its run_intent line. ``replies``: how many had come.
    """

    benchmark: Text
    run: Text
    intent: Hash
    reason: Text
    replies: Count


class Exposure(Record, tag_field="type", tag="exposure"):
    """Private items were shown to a column, under these terms of retention."""

    benchmark: Text
    run: Text
    column: Text
    items: tuple[str, ...]
    terms: Text


class Incident(Record, tag_field="type", tag="incident"):
    """Something went wrong that outsiders should know: a leak, a lost key, a broken rule."""

    what: Text
    benchmark: str | None = None
    items: tuple[str, ...] = ()


class Release(Record, tag_field="type", tag="release"):
    """A release was built. ``package``: SHA-256 of its SHA256SUMS; ``previous``: that of the one before."""

    benchmark: Text
    release: Text
    package: Hash
    root: Hash
    previous: Hash | None = None


Event = (
    Genesis
    | KeyAdd
    | KeyRetire
    | BatchCommit
    | Supersede
    | Freeze
    | Split
    | Open
    | Void
    | Waiver
    | RunIntent
    | RunResult
    | RunAbort
    | Exposure
    | Incident
    | Release
)
"""Any event; the tag ``type`` in the file tells which."""


def event_name(event: Event) -> str:
    """The tag of an event, as it stands in the file.

    >>> event_name(Incident(what="a key was lost"))
    'incident'
    """
    return str(event.__struct_config__.tag)
