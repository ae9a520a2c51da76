"""The shared rules, and what one benchmark changes of them (SPEC L23)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from lacre.errors import Fault, InputError, RecordError
from lacre.jsonl import explained
from lacre.registry.records import Record
from lacre.registry.settings import Settings

T = TypeVar("T")

MOST_MONTHS = 120  # ten years: past that, a slip of the pen


class LayerRules(Record):
    """Rules of the layers (L1)."""

    open_licence: str


class SplitRules(Record):
    """The first closing (L2): ``first_open`` is an exact share, such as ``2/5``."""

    first_open: str


class VettingRules(Record):
    """When public text drops an item (L7).

    Attributes:
        n: words in common, in a row, that drop an item.
        review_from: words in a row from which a person looks.
        rare_min_words: words that the rarest sentence must have to be looked for.
        rare_drop, rare_review: similarity of the aligned rarest sentence, 0 to 1, that drops, or sends to a
            person.
        max_unread: share of a required corpus, 0 to 1, that may be unreadable.
        short_min_bits, short_min_words: what an item under ``n`` words must carry to be testable whole.
        required_corpora: ids of the corpora of ``corpora.jsonl`` that items must be checked against.
    """

    n: int
    review_from: int
    rare_min_words: int
    rare_drop: float
    rare_review: float
    max_unread: float
    short_min_bits: float
    short_min_words: int
    required_corpora: tuple[str, ...]


class DuplicateRules(Record):
    """When two items are alike (L7), or share a passage (L2, L3).

    Attributes:
        alike: similarity of a part, 0 to 1, from which it counts as the same.
        min_bits: information that the parts in common must carry.
        passage_words: words in a row in two bodies that make a shared passage.
    """

    alike: float
    min_bits: float
    passage_words: int


class RoundRules(Record):
    """When private items open (L3).

    Attributes:
        months: months from one closing to the next.
        rotation_open: exact share of the private items that opens at each rotation, such as ``1/2``.
        age_cap: closings that an item may stay private through; at the next one it opens.
        exposure_cap: how often an item may be shown to columns; shown more often, it opens at the next closing.
            0: no cap.
        draw_days: days after its randomness is out by which a frozen draw must be carried out.
        private_size: private items aimed at, spread over the cells by their shares; 0: as many as were frozen.
    """

    months: int
    rotation_open: str
    age_cap: int
    exposure_cap: int
    draw_days: int
    private_size: int


class GateRules(Record):
    """The agreement that a metric must reach before it goes out (L20).

    Attributes:
        binary_kappa, critical_kappa, continuous_icc, judge_kappa: lowest point value that passes.
        prevalence: share of one category, 0 to 1, above which AC1 takes the place of kappa for critical failures.
        judge_verdicts: verdicts that a judge's gate needs.
    """

    binary_kappa: float
    critical_kappa: float
    prevalence: float
    continuous_icc: float
    judge_kappa: float
    judge_verdicts: int


class StrataRules(Record):
    """Results by stratum (L13): ``smallest`` is the number of items below which one is flagged as small."""

    smallest: int


class GuardRules(Record):
    """What a release may not hold (L22, X5).

    Attributes:
        smallest_cell: private items that a stratum must have before its results go out.
        contacts: e-mail addresses that may stand in a release.
    """

    smallest_cell: int
    contacts: tuple[str, ...]


class RunRules(Record):
    """How columns are asked (L10, L21).

    Attributes:
        choice_runs, open_runs: how often an objective item is asked, and an open-ended one.
        attempts: tries for one question before it counts as failed.
        limit_wait: seconds that one question waits for rate limits in all.
    """

    choice_runs: int
    open_runs: int
    attempts: int
    limit_wait: int


class SealedRules(Record):
    """What of a sealed run may leave (X4, X5).

    Attributes:
        axes: axes of the matrix by which counts may be told; empty: only the whole.
        margin: exact share of the items that may have to open beside the draw, such as ``1/50``.
        retention: terms of retention that are acceptable, word for word as a card's ``retention.value`` has them.
        terms_days: days for which terms that were read count as known.
    """

    axes: tuple[str, ...]
    margin: str
    retention: tuple[str, ...]
    terms_days: int


class Rules(Record):
    """Every default, in sections as in ``registry/rules.toml``."""

    layers: LayerRules
    split: SplitRules
    vetting: VettingRules
    duplicates: DuplicateRules
    rounds: RoundRules
    gates: GateRules
    strata: StrataRules
    guard: GuardRules
    run: RunRules
    sealed: SealedRules


class Benchmark(Record):
    """One benchmark: its name, title and notes, and the rules as they hold for it."""

    name: str
    title: str
    rules: Rules
    notes: str = ""


def default_rules_text() -> str:
    """The text of the rules that come with the package; ``lacre init`` copies it into a workspace."""
    return files("lacre.registry").joinpath("defaults.toml").read_text(encoding="utf-8")


def default_rules() -> Rules:
    """The rules that come with the package, for work outside any workspace.

    >>> default_rules().vetting.n
    13
    """
    with as_file(files("lacre.registry").joinpath("defaults.toml")) as path:
        return read_rules(path)


def read_rules(path: Path) -> Rules:
    """The shared rules of a workspace.

    Raises:
        InputError: the file is missing, not TOML, or not the rules.
        RecordError: a value is out of its range; every one is listed.
    """
    settings = Settings(path)
    rules = _rules(settings.values, path)
    _refuse(settings, rules)
    return rules


def read_benchmark(path: Path, shared: Rules) -> Benchmark:
    """A benchmark.toml with the shared rules filled in where it says nothing.

    Raises:
        InputError: the file is missing, not TOML, or has no name or title.
        RecordError: an unknown setting, or one that repeats the shared rules (L23); every one is listed.
    """
    settings = Settings(path)
    about: dict[str, Any] = {}
    for key in ("name", "title", "notes"):
        if key in settings.values:
            about[key] = settings.values[key]
    own = {key: value for key, value in settings.values.items() if key not in about}
    base = msgspec.to_builtins(shared)
    if faults := list(_differences(settings, own, base, ())):
        raise RecordError(path, faults)
    rules = _rules(_merged(base, own), path)
    _refuse(settings, rules)
    return _converted({**about, "rules": rules}, Benchmark, path)


def _rules(values: Mapping[str, Any], path: Path) -> Rules:
    return _converted(values, Rules, path)


def _converted(values: Mapping[str, Any], kind: type[T], path: Path) -> T:
    try:
        return msgspec.convert(values, kind)
    except msgspec.ValidationError as error:
        raise InputError(
            path, explained(error, kind), "Correct it; rules.toml says what each setting means"
        ) from None


def _differences(
    settings: Settings, own: Mapping[str, Any], base: Mapping[str, Any], above: tuple[str, ...]
) -> Iterator[Fault]:
    """What a benchmark may not say: a setting that does not exist, or one that changes nothing."""
    for key, value in own.items():
        keys = (*above, key)
        name = ".".join(keys)
        if key not in base:
            known = ", ".join(base)
            yield Fault(settings.line(keys), f"'{name}' is no setting", f"There are: {known}")
        elif isinstance(base[key], dict) and isinstance(value, dict):
            yield from _differences(settings, value, base[key], keys)
        elif value == base[key] and type(value) is type(base[key]):
            yield Fault(
                settings.line(keys), f"'{name}' says what the shared rules already say", "Take it out (L23)"
            )


def _merged(base: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """``base`` with the values of ``own`` in their places."""
    both = dict(base)
    for key, value in own.items():
        both[key] = (
            _merged(base[key], value) if isinstance(value, dict) and isinstance(base[key], dict) else value
        )
    return both


def _refuse(settings: Settings, rules: Rules) -> None:
    """Refuse values out of their range, all at once."""
    faults = [
        Fault(settings.line(keys), f"{'.'.join(keys)} {what}", todo)
        for keys, what, todo in _out_of_range(rules)
    ]
    if faults:
        raise RecordError(settings.path, faults)


def _is_share(text: str) -> bool:
    """Whether a text is an exact share between 0 and 1."""
    try:
        return 0 <= Fraction(text) <= 1
    except (ValueError, ZeroDivisionError):
        return False


def _out_of_range(rules: Rules) -> Iterator[tuple[tuple[str, str], str, str]]:
    vetting, rounds = rules.vetting, rules.rounds
    for keys, text in (
        (("split", "first_open"), rules.split.first_open),
        (("rounds", "rotation_open"), rounds.rotation_open),
        (("sealed", "margin"), rules.sealed.margin),
    ):
        if not _is_share(text):
            yield keys, "is not a share", "Write a fraction between 0 and 1, such as 2/5"
    yield from _rounds_out_of_range(rounds)
    if not 1 <= vetting.review_from <= vetting.n:
        yield ("vetting", "review_from"), "is not between 1 and n", "A review starts below a drop"
    if not 0 < vetting.rare_review <= vetting.rare_drop <= 1:
        yield (
            ("vetting", "rare_review"),
            "is not between 0 and rare_drop, or rare_drop is above 1",
            "Correct the two",
        )
    if not 0 <= vetting.max_unread <= 1:
        yield ("vetting", "max_unread"), "is not a share between 0 and 1", "0.001 is one part in a thousand"
    for name in ("rare_min_words", "short_min_words"):
        if getattr(vetting, name) < 1:
            yield ("vetting", name), "is below 1", "Give a number of words"
    if vetting.short_min_bits < 0:
        yield ("vetting", "short_min_bits"), "is negative", "Give an amount of information in bits"
    yield from _duplicates_out_of_range(rules.duplicates)
    yield from _scoring_out_of_range(rules)


def _rounds_out_of_range(rounds: RoundRules) -> Iterator[tuple[tuple[str, str], str, str]]:
    if not 1 <= rounds.months <= MOST_MONTHS:
        yield (
            ("rounds", "months"),
            f"is not between 1 and {MOST_MONTHS}",
            "Give the months that a round lasts",
        )
    if rounds.age_cap < 1:
        yield ("rounds", "age_cap"), "is below 1", "Give the closings that an item may stay private through"
    if rounds.exposure_cap < 0:
        yield ("rounds", "exposure_cap"), "is negative", "Give a number of showings, or 0 for no cap"
    if rounds.draw_days < 0:
        yield ("rounds", "draw_days"), "is negative", "Give the days in which a draw must be carried out"
    if rounds.private_size < 0:
        yield ("rounds", "private_size"), "is negative", "Give a number of items, or 0 for as many as now"


def _duplicates_out_of_range(duplicates: DuplicateRules) -> Iterator[tuple[tuple[str, str], str, str]]:
    if not 0.5 < duplicates.alike <= 1:
        yield (
            ("duplicates", "alike"),
            "is not between 0.5 and 1",
            "Any two texts are half alike; 0.85 is usual",
        )
    if not duplicates.min_bits >= 0:
        yield ("duplicates", "min_bits"), "is negative", "Give an amount of information in bits"
    if duplicates.passage_words < 1:
        yield ("duplicates", "passage_words"), "is below 1", "Give a number of words"


def _scoring_out_of_range(rules: Rules) -> Iterator[tuple[tuple[str, str], str, str]]:
    for name in ("binary_kappa", "critical_kappa", "continuous_icc", "judge_kappa", "prevalence"):
        # Written so that nan, which TOML allows, fails it too.
        if not 0 < getattr(rules.gates, name) <= 1:
            yield ("gates", name), "is not between 0 and 1", "0.70 is what LUA asks of a binary criterion"
    runs = (("run", name) for name in ("choice_runs", "open_runs", "attempts", "limit_wait"))
    for section, name in (
        ("gates", "judge_verdicts"),
        ("strata", "smallest"),
        ("guard", "smallest_cell"),
        ("sealed", "terms_days"),
        *runs,
    ):
        if getattr(getattr(rules, section), name) < 1:
            yield (section, name), "is below 1", "Give a number"
