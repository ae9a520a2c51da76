"""The job itself: items in, verdicts and evidence out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from lacre import jsonl
from lacre.errors import InputError
from lacre.overlap.index import REVIEW_FROM, ItemIndex, index_items
from lacre.registry.items import Candidate
from lacre.registry.rules import VettingRules
from lacre.registry.verdicts import Finding, Verdict
from lacre.vetting.presented import presented
from lacre.vetting.scan import Corpus, Progress, Reading, listings, scan
from lacre.vetting.verdicts import ItemVerdict, decide


@dataclass(frozen=True, kw_only=True, slots=True)
class Vetting:
    """What was decided, on what evidence, under which rules, after reading how much.

    Attributes:
        items: the verdicts in the order of the items.
        corpora: how much of each corpus was read.
        rules: the rules that held.
        index: the items' words, for drawing the evidence.
    """

    items: tuple[ItemVerdict, ...]
    corpora: tuple[Reading, ...]
    rules: VettingRules
    index: ItemIndex

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
    executor: Executor,
    column: str | None = None,
    on_progress: Callable[[Progress], None] = lambda _: None,
) -> Vetting:
    """Check items against corpora (SPEC L7). Each source is a file, folder or glob; all of them are required.

    Raises:
        InputError: a source is missing or has no text column, or the rules ask for what the search cannot do.
    """
    if rules.review_from < REVIEW_FROM:
        raise InputError(
            "rules", f"review_from is {rules.review_from}; runs are found from {REVIEW_FROM} words", "Raise it"
        )
    found = listings(sources, column)
    index = index_items(
        [presented(item) for item in items],
        min_words=rules.short_min_words,
        min_bits=rules.short_min_bits,
        rare_min_words=rules.rare_min_words,
    )
    corpora = scan(
        index, sources, found, align_from=rules.rare_review, executor=executor, on_progress=on_progress
    )
    return Vetting(
        items=tuple(decide(index, corpora, rules)),
        corpora=tuple(corpus.reading for corpus in corpora),
        rules=rules,
        index=index,
    )


def write(vetting: Vetting, folder: Path) -> None:
    """Write ``verdicts.jsonl`` and ``findings.jsonl``, each whole or not at all."""
    jsonl.write(folder / "findings.jsonl", vetting.findings, composed=False)
    jsonl.write(folder / "verdicts.jsonl", vetting.verdicts, composed=False)


__all__ = ["Corpus", "Vetting", "vet", "write"]
