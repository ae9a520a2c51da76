"""The corpora that a benchmark requires (SPEC L7): which can be read here, and which could not be reached."""

from __future__ import annotations

import glob
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from lacre.corpora.addresses import out_of_reach
from lacre.corpora.batches import Unread
from lacre.corpora.remote import is_address
from lacre.registry.corpora import Corpus
from lacre.vetting.readings import Reading


class Required(NamedTuple):
    """What to read, with its text column where the inventory says it, and what was not reached."""

    sources: tuple[str, ...]
    columns: Mapping[str, str]
    unreached: tuple[Reading, ...]


def required(corpora: Sequence[Corpus], root: Path) -> Required:
    """The corpora as sources for the scan; a corpus that is not at hand is a reading of nothing, with its reason.

    ``root`` is the workspace, to which locations on disk are relative. Nothing of a corpus that was not reached may
    be concluded, so it makes verdicts ``unknown``.
    """
    sources: list[str] = []
    columns: dict[str, str] = {}
    unreached: list[Reading] = []
    for corpus in corpora:
        reason = _out_of_reach(corpus, root)
        if reason is not None:
            unreached.append(unread(corpus.id, corpus.location or "location unknown", reason))
            continue
        source = source_of(corpus, root)
        sources.append(source)
        if corpus.column is not None:
            columns[source] = corpus.column
    return Required(tuple(sources), columns, tuple(unreached))


def source_of(corpus: Corpus, root: Path) -> str:
    """A corpus as a source: its path, or its address with its subset.

    >>> source_of(Corpus(id="c", location="hf://datasets/o/c", subset="pt"), Path("here"))
    'hf://datasets/o/c#pt'
    """
    location = corpus.location or ""
    if not is_address(location):
        return str(root / location)
    return f"{location}#{corpus.subset}" if corpus.subset and location.startswith("hf://") else location


def unread(corpus: str, where: str, reason: str) -> Reading:
    """A reading of nothing.

    >>> unread("c", "hf://datasets/o/c", "not reached").incomplete
    ('hf://datasets/o/c',)
    """
    return Reading(
        corpus=corpus,
        shards=0,
        documents=0,
        bytes=0,
        nulls=0,
        unread=(Unread(where=where, reason=reason, bytes=0, incomplete=True),),
        unread_places=1,
        unread_bytes=0,
        incomplete=(where,),
    )


def _out_of_reach(corpus: Corpus, root: Path) -> str | None:
    """Why a corpus cannot be read here, none when it can."""
    if corpus.location is None:
        return "nobody has said where it is"
    if is_address(corpus.location):
        return out_of_reach(source_of(corpus, root))
    place = root / corpus.location
    if not place.exists() and not glob.glob(str(place), recursive=True):  # noqa: PTH207 - as the sources are read
        return "nothing is there"
    return None
