"""The job itself: items in, verdicts and evidence out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from lacre import jsonl
from lacre.engine.journal import Sink
from lacre.errors import InputError
from lacre.overlap.index import REVIEW_FROM, index_items
from lacre.overlap.kernel import SEED
from lacre.overlap.sheets import Sheets
from lacre.registry.items import Candidate
from lacre.registry.rules import VettingRules
from lacre.registry.verdicts import Finding, Verdict
from lacre.registry.waivers import Waiver, payload_sha256
from lacre.vetting.crews import Crew, Threads
from lacre.vetting.evidence import Found
from lacre.vetting.indexed import Lookup, with_passed
from lacre.vetting.journal import Journal, stamp
from lacre.vetting.presented import answers, presented
from lacre.vetting.progress import Progress
from lacre.vetting.readings import Reading
from lacre.vetting.scan import Corpus, listings, scan
from lacre.vetting.sheet import Undecided, sheet
from lacre.vetting.verdicts import ItemVerdict, decide
from lacre.vetting.waived import waived


@dataclass(frozen=True, kw_only=True, slots=True)
class Vetting:
    """What was decided, on what evidence, under which rules, after reading how much.

    Attributes:
        items: the verdicts in the order of the items; ``candidates``: the items.
        corpora: how much of each corpus was read.
        rules: the rules that held.
        sheets: the items' words, for drawing the evidence.
        failed: shards that could not be reached, and that another try may reach.
        unkept: how many shards that are done could not be written to the journal.
    """

    items: tuple[ItemVerdict, ...]
    candidates: tuple[Candidate, ...]
    corpora: tuple[Reading, ...]
    rules: VettingRules
    sheets: Sheets
    failed: tuple[str, ...] = ()
    unkept: int = 0

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """The verdicts sorted by item id."""
        return tuple(sorted((item.verdict for item in self.items), key=lambda verdict: verdict.item))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings kept, by item id, the deciding one of each item first."""
        ordered = sorted(self.items, key=lambda item: item.verdict.item)
        return tuple(judged.finding for item in ordered for judged in item.judged)


def vet(
    items: Sequence[Candidate],
    sources: Sequence[str],
    rules: VettingRules,
    *,
    executor: Executor | Crew,
    sink: Sink | None = None,
    column: str | None = None,
    columns: Mapping[str, str] = MappingProxyType({}),
    unreached: Sequence[Reading] = (),
    apart: Sequence[Path] = (),
    phrases: Sequence[str] = (),
    waivers: Sequence[Waiver] = (),
    lookup: Lookup | None = None,
    on_index: Callable[[], None] = lambda: None,
    on_progress: Callable[[Progress], None] = lambda _: None,
    on_trouble: Callable[[str], None] = lambda _: None,
) -> Vetting:
    """Check items against corpora (SPEC L7). Each source is a file, folder or glob; all of them are required.

    Args:
        items: as they are; the verdicts come in this order.
        sources: corpora, each named once.
        rules: what drops, what sends to a person, what may stay unread.
        executor: any executor of threads, or a crew; the result is the same whatever it does first.
        sink: where the journal's lines go; shards that it has are not read again. Whoever opened it closes it.
        column: the text column of the corpora; found when not given.
        columns: text columns of single sources, which come before ``column``.
        unreached: required corpora that could not be reached; they make verdicts ``unknown``.
        apart: files and folders that are not searched though they lie in a corpus: the items' own file.
        phrases: approved boilerplate.
        lookup: indexes in which the items are looked up besides, but for the files that the sources hold.
        waivers: those that were written down; each holds for its finding while the item's text is the same.
        on_index: called when the corpora were found and the items are about to be indexed.
        on_progress: called from the reading threads, one at a time.
        on_trouble: told when the journal cannot be written.

    Raises:
        InputError: a source is missing or has no text column, the rules ask for what the search cannot do, or the
            journal is of other items or rules.
    """
    _refuse_out_of_reach(rules)
    found = listings(sources, column, apart, columns)
    on_index()
    index = index_items(
        [presented(item) for item in items],
        min_words=rules.short_min_words,
        min_bits=rules.short_min_bits,
        rare_min_words=rules.rare_min_words,
        rarity=None if lookup is None else lookup.rarity,
    )
    journal = None if sink is None else Journal(sink, stamp(items, rules, index), on_trouble)
    corpora = scan(
        index,
        sources,
        found,
        align_from=rules.rare_review,
        crew=Threads(executor) if isinstance(executor, Executor) else executor,
        journal=journal,
        on_progress=on_progress,
    )
    if lookup is not None:
        left = lookup.left([shard for listing in found for shard in listing.shards])
        if any(one.sources for one in left):
            index = lookup.within_reach(index)
        corpora = with_passed(corpora, left)
        corpora += lookup.search(index, left, align_from=rules.rare_review, on_progress=on_progress)
    corpora += [Corpus(reading=reading, found=Found()) for reading in unreached]
    return Vetting(
        items=tuple(
            decide(
                index,
                corpora,
                rules,
                answers=[answers(item.payload) for item in items],
                waived=waived(items, waivers),
                phrases=phrases,
            )
        ),
        candidates=tuple(items),
        corpora=tuple(corpus.reading for corpus in corpora),
        rules=rules,
        sheets=index.sheets,
        failed=tuple(name for corpus in corpora for name in corpus.failed),
        unkept=0 if journal is None else journal.unkept,
    )


def _refuse_out_of_reach(rules: VettingRules) -> None:
    """Refuse rules that ask for shorter matches than the search finds: what it misses would be kept."""
    for name, least in (("review_from", REVIEW_FROM), ("short_min_words", SEED), ("rare_min_words", SEED)):
        if getattr(rules, name) < least:
            raise InputError(
                "rules", f"{name} is {getattr(rules, name)}; nothing is found under {least} words", "Raise it"
            )


VERDICTS, FINDINGS, PAGE = "verdicts.jsonl", "findings.jsonl", "vetting.html"
DECISIONS = "decisions.csv"
"""The files of a vetting; the page is composed a floor up."""
FILES = (VERDICTS, FINDINGS, DECISIONS, PAGE)


def write(vetting: Vetting, page: str, folder: Path) -> None:
    """Write the verdicts, the findings, the decision sheet and ``page``, its HTML, to ``folder``: all or none.

    They quote the items, as the journal does: only their owner may read them.

    Raises:
        OSError: they cannot be written; what was there before still is.
    """
    contents = {
        FINDINGS: b"".join(jsonl.encode(finding, composed=False) for finding in vetting.findings),
        VERDICTS: b"".join(jsonl.encode(verdict, composed=False) for verdict in vetting.verdicts),
        DECISIONS: sheet(_undecided(vetting)),
        PAGE: page.encode(),
    }
    with ExitStack() as stack:
        # All bytes are on disk before the first name changes: a full disk changes nothing.
        for name, content in contents.items():
            file = stack.enter_context(jsonl.replacing(folder / name, secret=True))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())


def _undecided(vetting: Vetting) -> Iterator[Undecided]:
    """The findings that weigh against an item, by item id, the deciding one first."""
    both = zip(vetting.items, vetting.candidates, strict=True)
    for item, candidate in sorted(both, key=lambda pair: pair[1].id):
        weighing = [judged for judged in item.judged if judged.weight in ("drop", "review")]
        # Only where something was found: hashing every item would take its time.
        present = payload_sha256(candidate.payload) if weighing else ""
        for judged in weighing:
            yield Undecided(item.verdict, judged.finding, judged.weight, present)
