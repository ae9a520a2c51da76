"""The vetting report: one HTML file that says which item leaked, where, and with which words (SPEC L7, X2).

It needs no network, no other file and no clock; the same records give the same bytes.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import jinja2
from markupsafe import Markup

from lacre import jsonl
from lacre.registry.verdicts import Decision, Finding
from lacre.registry.waivers import finding_id
from lacre.report import words
from lacre.report.marks import marked
from lacre.report.page import (
    CorpusRow,
    Evidence,
    Field,
    Gap,
    ItemRow,
    Thresholds,
    VettingPage,
    check,
)

__all__ = [
    "CorpusRow",
    "Evidence",
    "Field",
    "Gap",
    "ItemRow",
    "Thresholds",
    "VettingPage",
    "render",
    "write",
]

# Up to so many items the page opens with all of their findings unfolded; past it, only the first.
OPEN_AT_FIRST = 12
# Places named for each reason of a corpus; the rest is counted.
PLACES = 200
# Rows of the table drawn at once; the others come on demand where scripts run.
FIRST_ROWS = 500
BAR = 1000  # width of the bar, in its own units
_ORDER: dict[Decision, int] = {verdict: place for place, verdict in enumerate(words.VERDICTS)}
_CLASS_ORDER = {name: place for place, name in enumerate(words.CLASSES)}
_SAFE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def render(page: VettingPage) -> str:
    """The page as one HTML document.

    Items come in the order of their verdicts, the longest run first; findings with the deciding one first.
    The order of ``page.items`` does not matter.

    Raises:
        RecordError: marks lie outside their text, or an item is there twice; every fault is listed.

    >>> rules = Thresholds(
    ...     n=13, review_from=8, rare_min_words=8, rare_drop=0.9, rare_review=0.75, max_unread=0.001
    ... )
    >>> render(VettingPage(title="itens.jsonl", rules=rules, corpora=(), items=())).splitlines()[:2]
    ['<!DOCTYPE html>', '<html lang="pt-BR">']
    """
    check(page)
    rows = sorted((_row(item, page.rules) for item in page.items), key=_Row.rank)
    anchors = _anchors(rows)
    shown = [row for row in rows if row.has_section]
    counts = Counter(row.item.verdict.verdict for row in rows)
    environment, style, script = _sheets()
    return environment.get_template("vetting.html.j2").render(
        page=page,
        rows=rows,
        shown=shown,
        anchors=anchors,
        counts=counts,
        bar=_bar(counts),
        corpora=[_corpus(row) for row in page.corpora],
        filters=_filters(rows),
        open_at_first=len(shown) if len(shown) <= OPEN_AT_FIRST else 1,
        first_rows=FIRST_ROWS,
        style=style,
        script=script,
        policy=_policy(style, script),
    )


def write(page: VettingPage, path: Path) -> None:
    """Write the page to ``path``, whole or not at all.

    Raises:
        RecordError: as :func:`render`; nothing is written then.
    """
    jsonl.write_bytes(path, render(page).encode())


@dataclass(frozen=True, slots=True)
class _Shown:
    """A finding as drawn: the item's fields on one side, the document on the other."""

    evidence: Evidence
    fields: tuple[tuple[words.Pair, bool, Markup], ...]
    excerpt: Markup

    @property
    def finding(self) -> Finding:
        """The finding itself."""
        return self.evidence.finding

    @property
    def name(self) -> str:
        """By which it is waived."""
        return finding_id(self.finding)


@dataclass(frozen=True, slots=True)
class _Row:
    """An item as drawn: its line in the table and what its section shows."""

    item: ItemRow
    reason: words.Pair
    evidence: tuple[_Shown, ...]
    fields: tuple[tuple[words.Pair, bool, Markup], ...]

    def rank(self) -> tuple[int, int, float, str]:
        """Verdict first, then the longest run and the widest coverage, then the id."""
        verdict = self.item.verdict
        return (_ORDER[verdict.verdict], -verdict.longest_run, -verdict.coverage, verdict.item)

    @property
    def top(self) -> Finding | None:
        """The finding that decides, if any."""
        return self.evidence[0].finding if self.evidence else None

    @property
    def has_section(self) -> bool:
        """Whether the item's text is shown: never when it is kept, and only with something to see."""
        verdict = self.item.verdict.verdict
        return verdict != "keep" and bool(self.evidence or verdict == "untestable")

    @property
    def kinds(self) -> list[str]:
        """Kinds of field that the findings cover, letters left out, sorted."""
        return sorted({_kind(name) for shown in self.evidence for name in shown.finding.fields})

    @property
    def classes(self) -> list[str]:
        """Classes of the findings, sorted."""
        return sorted({shown.finding.class_ for shown in self.evidence})

    @property
    def corpora(self) -> list[str]:
        """Corpora of the findings, sorted."""
        return sorted({shown.finding.corpus for shown in self.evidence})


def _kind(field: str) -> str:
    return field.partition(":")[0]


def _row(item: ItemRow, rules: Thresholds) -> _Row:
    ranked = sorted(item.evidence, key=lambda evidence: _weight(evidence, rules))
    deciding = ranked[0] if ranked else None
    reason = words.reason(item, deciding, rules)
    if item.verdict.verdict == "keep":
        return _Row(item, reason, tuple(_Shown(evidence, (), Markup()) for evidence in ranked), ())
    evidence = tuple(_shown(item, one) for one in ranked)
    return _Row(item, reason, evidence, () if evidence else _fields(item, ()))


def _weight(evidence: Evidence, rules: Thresholds) -> tuple[object, ...]:
    """Sorts the deciding finding first: what weighs most, what reaches the rule, the longest."""
    finding = evidence.finding
    decides = finding.words >= rules.n if finding.check == "overlap" else finding.score >= rules.rare_drop
    place = (finding.corpus, finding.shard, finding.document, finding.bytes, finding.item_words)
    return (
        _ORDER["drop"] if evidence.weight is None else _ORDER[evidence.weight],
        not decides,
        finding.check,
        -finding.words,
        -finding.score,
        -finding.coverage,
        _CLASS_ORDER[finding.class_],
        place,
    )


def _shown(item: ItemRow, evidence: Evidence) -> _Shown:
    return _Shown(
        evidence,
        _fields(item, evidence.item_marks),
        marked(evidence.excerpt, evidence.document_marks),
    )


def _fields(
    item: ItemRow, marks: Sequence[tuple[str, int, int]]
) -> tuple[tuple[words.Pair, bool, Markup], ...]:
    """Each field: its label, whether anything in it is marked, its text."""
    spans: dict[str, list[tuple[int, int]]] = {}
    for name, start, end in marks:
        spans.setdefault(name, []).append((start, end))
    return tuple(
        (
            words.field_label(field.name, field.label),
            field.name in spans,
            marked(field.text, spans.get(field.name, ())),
        )
        for field in item.fields
    )


def _anchors(rows: Sequence[_Row]) -> dict[str, str]:
    """An anchor for each item: its id where that is safe in an address, else its place on the page."""
    return {
        name: f"item-{name}" if _SAFE_ID.fullmatch(name) else f"place-{place}"
        for place, name in enumerate((row.item.verdict.item for row in rows), 1)
    }


def _bar(counts: Counter[Decision]) -> list[tuple[Decision, int, int]]:
    """Verdict, x and width of each part of the bar; no part is too thin to be seen."""
    total = counts.total()
    parts: list[tuple[Decision, int, int]] = []
    present = [verdict for verdict in words.VERDICTS if counts[verdict]]
    spare = BAR - 12 * len(present)
    at, done = 0, 0
    for place, verdict in enumerate(present, 1):
        done += counts[verdict]
        end = 12 * place + spare * done // total
        parts.append((verdict, at, end - at))
        at = end
    return parts


@dataclass(frozen=True, slots=True)
class _Reason:
    """What was not read for one reason, in one corpus."""

    text: str
    bytes: int
    places: int
    gaps: tuple[Gap, ...]

    @property
    def rest(self) -> int:
        """How many places are counted and not named."""
        return self.places - sum(gap.places for gap in self.named)

    @property
    def named(self) -> tuple[Gap, ...]:
        """The first places, in the order of their names."""
        return self.gaps[:PLACES]


@dataclass(frozen=True, slots=True)
class _Corpus:
    """A corpus as drawn: what was not read is grouped by reason, the largest loss first."""

    row: CorpusRow
    unread: int
    places: int
    reasons: tuple[_Reason, ...]


def _corpus(row: CorpusRow) -> _Corpus:
    groups: dict[str, list[Gap]] = {}
    for gap in sorted(row.unread, key=lambda gap: (gap.where, gap.reason, gap.bytes)):
        groups.setdefault(gap.reason, []).append(gap)
    reasons = [
        _Reason(text, sum(gap.bytes for gap in gaps), sum(gap.places for gap in gaps), tuple(gaps))
        for text, gaps in groups.items()
    ]
    reasons.sort(key=lambda reason: (-reason.bytes, -reason.places, reason.text))
    return _Corpus(
        row,
        sum(reason.bytes for reason in reasons),
        sum(reason.places for reason in reasons),
        tuple(reasons),
    )


@dataclass(frozen=True, slots=True)
class _Filters:
    """What the table can be narrowed to: only what occurs."""

    corpora: list[str]
    fields: list[tuple[str, words.Pair]]
    classes: list[tuple[str, words.Pair]]


def _filters(rows: Sequence[_Row]) -> _Filters:
    corpora = {name for row in rows for name in row.corpora}
    kinds = {name for row in rows for name in row.kinds}
    classes = {name for row in rows for name in row.classes}
    return _Filters(
        corpora=sorted(corpora),
        fields=[
            (name, words.field_label(name))
            for name in [*words.FIELDS, *sorted(kinds - set(words.FIELDS))]
            if name in kinds
        ],
        classes=[(name, label) for name, label in words.CLASSES.items() if name in classes],
    )


@cache
def _sheets() -> tuple[jinja2.Environment, str, str]:
    """The templates, the style sheet and the script, as they are shipped inside the package."""
    loader = jinja2.PackageLoader("lacre.report")
    environment = jinja2.Environment(
        loader=loader,
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "grouped": words.grouped,
        "percent": words.percent,
        "both": lambda pair: words.both(*pair),
        "clean": words.clean,
    }
    environment.globals |= {"t": words.both, "w": words}
    style, script = (loader.get_source(environment, name)[0] for name in ("vetting.css", "vetting.js"))
    return environment, style, script


def _policy(style: str, script: str) -> str:
    """A Content-Security-Policy under which nothing leaves the page and only these two sheets run."""
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in (style, script))
    style_hash, script_hash = digests
    return (
        f"default-src 'none'; style-src 'sha256-{style_hash}'; script-src 'sha256-{script_hash}'; "
        "base-uri 'none'; form-action 'none'"
    )
