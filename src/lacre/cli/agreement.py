"""``lacre agreement``: how far raters agree, and whether that is enough to publish."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lacre.cli.output import example, json_option, print_json, print_table, say
from lacre.errors import Exit, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lacre.registry.ratings import Ratings, Repeats
    from lacre.scoring.confusion import Confusion
    from lacre.scoring.estimates import Measured
    from lacre.scoring.gates import Gate, Kind, Minimums
    from lacre.scoring.icc import Scores
    from lacre.scoring.krippendorff import Scale
    from lacre.scoring.panel import Pair, Panel

CONSENSUS = "consensus"
"""What the majority of the raters of --against is called."""

_FEW = 12  # categories whose confusion matrix a table can show


@click.command(
    epilog=example(
        "lacre agreement verdicts.csv",
        "lacre agreement verdicts.csv --raters judge --against ana,rui,bia --gate judge",
        "lacre agreement scores.jsonl --item item --rater who --label score --gate continuous",
    )
)
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--item", metavar="COLUMN,...", help="Columns that together name the item; item or id if there."
)
@click.option("--rater", metavar="COLUMN", help="Column of raters, where each rating has a row.")
@click.option("--label", metavar="COLUMN", help="Column of labels, where each rating has a row.")
@click.option(
    "--raters",
    metavar="NAME,...",
    help="Columns of a file with one for each rater; elsewhere, raters to keep.",
)
@click.option(
    "--against",
    metavar="NAME,...",
    help="Compare with what most of these say, called consensus, as reference.",
)
@click.option(
    "--categories", metavar="LABEL,...", help="All labels that may be given, in order if they have one."
)
@click.option(
    "--scale",
    type=click.Choice(["nominal", "ordinal", "interval"]),
    default="nominal",
    show_default=True,
    help="What distances between labels mean.",
)
@click.option(
    "--weights",
    type=click.Path(path_type=Path),
    help="CSV of your own agreement weights: a row and a column a label.",
)
@click.option(
    "--gate",
    "kind",
    type=click.Choice(["binary", "critical", "continuous", "judge"]),
    help="Say whether the agreement is enough to publish.",
)
@click.option("--benchmark", metavar="NAME", help="Use the gates of this benchmark of the workspace.")
@click.option("--missing", metavar="LABEL,...", help="Labels that mean there is none, besides empty ones.")
@click.option(
    "--repeats",
    type=click.Choice(["refuse", "nth", "order"]),
    default="refuse",
    show_default=True,
    help="A rater rates an item twice: pair the nth with the nth, or align the rows of two raters in order.",
)
@click.option("--level", type=float, default=0.95, show_default=True, help="Confidence level of intervals.")
@click.option("--draws", type=click.IntRange(0), default=2000, show_default=True, help="Resamples for alpha.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the resamples.")
@json_option
def agreement(
    *,
    files: tuple[Path, ...],
    item: str | None,
    rater: str | None,
    label: str | None,
    raters: str | None,
    against: str | None,
    categories: str | None,
    scale: Scale,
    weights: Path | None,
    kind: Kind | None,
    benchmark: str | None,
    missing: str | None,
    repeats: Repeats,
    level: float,
    draws: int,
    seed: int,
    as_json: bool,
) -> int:
    """Say how far the raters of FILES agree beyond chance, with intervals.

    FILES are JSONL, JSON, CSV, TSV or Parquet, plain or compressed. Ratings stand in one of three ways: a row
    for each (columns item, rater and label), a column for each rater, or a file for each rater (no column of
    raters: the file's name is the rater's).

    Two raters get Cohen's kappa (weighted too on ordered scales), Gwet's AC1, agreement by category and the
    confusion matrix; several get every pair, Fleiss' kappa and AC1; all get Krippendorff's alpha, and ICC(2,1)
    on the interval scale. What is undefined says why. The first of two raters is the reference.

    Exit code: 1 when --gate does not pass.
    """
    import numpy as np  # noqa: PLC0415 - keeps --help fast

    from lacre.registry.ratings import Layout, read_ratings  # noqa: PLC0415
    from lacre.scoring.panel import measured_panel  # noqa: PLC0415

    if kind == "continuous":
        scale = "interval"
    judged, panel_of = _listed(raters), _listed(against)
    layout = Layout(
        item=_listed(item),
        rater=rater,
        label=label,
        raters=tuple(dict.fromkeys((*judged, *panel_of))) if judged or not panel_of else (),
        missing=_listed(missing),
        declared=_listed(categories),
        repeats=repeats,
    )
    ratings = read_ratings(files, layout)
    declared = _declared(ratings, _listed(categories), scale)
    if panel_of:
        ratings = _with_consensus(ratings, panel_of, judged, declared)
    scores = _scores(ratings) if scale == "interval" else None
    panel = measured_panel(
        ratings.labels,
        ratings.raters,
        declared,
        rng=np.random.default_rng(seed),
        scale=scale,
        weights=_weights(weights, declared) if weights else None,
        scores=scores,
        draws=draws,
        level=level,
    )
    gated = None if kind is None else _gate(kind, panel, scores, _minimums(benchmark), level)
    if as_json:
        print_json({"ratings": _counts(ratings), "panel": panel, "gate": gated})
    else:
        _remark(ratings, panel, _listed(categories))
        _print(panel, gated)
    return int(Exit.CLEAN if gated is None or gated.passes else Exit.FINDING)


def _listed(text: str | None) -> tuple[str, ...]:
    """The parts of a comma-separated option."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def _declared(ratings: Ratings, categories: tuple[str, ...], scale: Scale) -> tuple[str, ...]:
    """The categories: those declared, or those seen where their order can be told."""
    from lacre.registry.ratings import number, seen_categories  # noqa: PLC0415
    from lacre.scoring.panel import MANY  # noqa: PLC0415

    if categories:
        return categories
    seen = seen_categories(ratings.labels)
    if not seen:
        raise InputError("ratings", "there is no label at all", "Look at --label, --raters and --missing")
    if len(seen) > MANY and scale != "interval":
        what = f"{len(seen):,} different labels: these are no categories"
        raise InputError("ratings", what, "Look at --label and --raters, or say --scale interval for scores")
    if scale == "ordinal" and any(number(name) is None for name in seen):
        raise InputError(
            "--scale ordinal", f"the order of {', '.join(seen)} cannot be told", "Say it with --categories"
        )
    return seen


def _with_consensus(
    ratings: Ratings, panel: Sequence[str], judged: Sequence[str], categories: Sequence[str]
) -> Ratings:
    """The consensus of a panel as the first rater, then those who are compared with it."""
    import msgspec  # noqa: PLC0415 - keeps --help fast

    from lacre.scoring.confusion import consensus, encoded  # noqa: PLC0415

    absent = [name for name in panel if name not in ratings.raters]
    if absent:
        there = ", ".join(ratings.raters)
        raise InputError("--against", f"no ratings by {', '.join(absent)}", f"There are: {there}")
    others = [name for name in (judged or ratings.raters) if name not in panel]
    if not others:
        raise InputError("--against", "nobody is left to compare", "Name others with --raters")
    places = [ratings.raters.index(name) for name in panel]
    agreed = consensus(encoded([[row[place] for place in places] for row in ratings.labels], categories))
    named = [None if code < 0 else categories[code] for code in agreed.tolist()]
    if split := sum(
        name is None and any(row[place] is not None for place in places)
        for name, row in zip(named, ratings.labels, strict=True)
    ):
        say(f"{split:,} items have no majority among {', '.join(panel)}: they are left out.")
    kept = [ratings.raters.index(name) for name in others]
    labels = tuple(
        (name, *(row[place] for place in kept)) for name, row in zip(named, ratings.labels, strict=True)
    )
    alone = sum(sum(label is not None for label in row) < 2 for row in labels)
    return msgspec.structs.replace(ratings, raters=(CONSENSUS, *others), labels=labels, alone=alone)


def _scores(ratings: Ratings) -> Scores:
    """The labels as numbers, shape (items, raters)."""
    import numpy as np  # noqa: PLC0415 - keeps --help fast

    from lacre.registry.ratings import number  # noqa: PLC0415

    wrong = sorted(
        {label for row in ratings.labels for label in row if label is not None and number(label) is None}
    )
    if wrong:
        named = ", ".join(f"'{label}'" for label in wrong[:5]) + (" ..." if len(wrong) > 5 else "")
        raise InputError("labels", f"{named} not a number", "Correct it, or name it with --missing")
    values = [[np.nan if label is None else number(label) for label in row] for row in ratings.labels]
    return np.array(values, dtype=np.float64).reshape(len(ratings.labels), len(ratings.raters))


def _weights(path: Path, categories: Sequence[str]) -> list[list[float]]:
    """Weights of a CSV whose first column and first row name the labels, in the order of the categories."""
    from lacre.registry.ratings import label_text, number  # noqa: PLC0415
    from lacre.registry.tables import read_table  # noqa: PLC0415

    table = read_table(path)
    head = table.columns[0] if table.columns else ""
    rows = {label_text(row.values[head]): row for row in table.rows}
    absent = [name for name in categories if name not in rows or name not in table.columns]
    if absent or table.faults:
        raise InputError(
            path,
            f"no row or no column for {', '.join(absent) or 'some label'}",
            "Give one of each for every label",
        )
    weights: list[list[float]] = []
    for name in categories:
        values = [number(str(rows[name].values[other])) for other in categories]
        known = [value for value in values if value is not None]
        if len(known) < len(values):
            raise InputError(
                f"{path}:{rows[name].line}", "a weight is no number", "Write numbers from 0 to 1"
            )
        weights.append(known)
    return weights


def _minimums(benchmark: str | None) -> Minimums:
    """The gates of the benchmark, of the workspace, or those that come with the package."""
    import msgspec  # noqa: PLC0415 - keeps --help fast

    from lacre.registry.rules import default_rules  # noqa: PLC0415
    from lacre.registry.workspace import Workspace  # noqa: PLC0415
    from lacre.scoring.gates import Minimums  # noqa: PLC0415

    workspace = Workspace.search(Path.cwd())
    if workspace is None:
        if benchmark is not None:
            raise InputError(
                "--benchmark", "there is no workspace here", "Go to one, or make one with `lacre init`"
            )
        rules = default_rules()
    else:
        rules = workspace.benchmark(benchmark).rules if benchmark is not None else workspace.rules()
    return Minimums(**msgspec.structs.asdict(rules.gates))


def _gate(kind: Kind, panel: Panel, scores: Scores | None, minimums: Minimums, level: float) -> Gate:
    """The gate on the ratings of two, or on the scores of all."""
    from lacre.scoring.gates import gate  # noqa: PLC0415

    if kind == "continuous":
        assert scores is not None
        return gate(kind, scores, minimums, level=level)
    if len(panel.pairs) != 1:
        raise InputError(
            f"--gate {kind}",
            f"is of two raters, not {len(panel.raters)}",
            "Choose two with --raters, or one against the majority of others with --against",
        )
    return gate(kind, panel.pairs[0].table, minimums, level=level)


def _counts(ratings: Ratings) -> dict[str, object]:
    """What the ratings are, without the ratings."""
    return {
        "items": len(ratings.items),
        "raters": ratings.raters,
        "alone": ratings.alone,
        "empty": ratings.empty,
        "repeated": ratings.repeated,
        "recoded": ratings.recoded,
    }


def _remark(ratings: Ratings, panel: Panel, declared: Sequence[str]) -> None:
    """What a person should know about the ratings."""
    said = (
        (ratings.alone, f"{ratings.alone:,} of {len(ratings.items):,} items have fewer than two ratings."),
        (ratings.empty, f"{ratings.empty:,} ratings are empty or missing."),
        (ratings.repeated, f"{ratings.repeated:,} ratings are of items that their rater had rated before."),
        (ratings.recoded, f"{ratings.recoded:,} lines were not UTF-8 and were read as Windows-1252."),
    )
    for count, sentence in said:
        if count:
            say(sentence)
    if not declared and panel.scale != "interval" and len(panel.categories) <= _FEW:
        say(f"Categories are those seen: {', '.join(panel.categories)}. Declare them with --categories.")


def _print(panel: Panel, gated: Gate | None) -> None:
    """The coefficients, then, for two raters, the classes and the confusion matrix, then the gate."""
    rows = _panel_rows(panel)
    pairs = [row for pair in panel.pairs for row in _pair_rows(pair)]
    # Two raters: their kappa comes first. Several: what holds for all of them.
    rows = [*pairs, *rows] if len(panel.raters) == 2 else [*rows, *pairs]
    figures = ("value", "low", "high", "error", "n")
    print_table(("raters", "statistic", *figures, "interval"), rows, right=figures, whole=("statistic",))
    if len(panel.pairs) == 1 and len(panel.categories) <= _FEW:
        click.echo()
        _print_classes(panel.pairs[0])
        click.echo()
        _print_table(panel.pairs[0].table, panel.pairs[0])
    if gated is not None:
        click.echo()
        _print_gate(gated)


def _pair_rows(pair: Pair) -> list[tuple[str, ...]]:
    names = f"{pair.first}, {pair.second}"
    rows = [
        _row(names, "observed agreement", pair.observed),
        _row(names, "Cohen's kappa", pair.kappa.estimate),
        *(_row(names, f"kappa, {kind} weights", found.estimate) for kind, found in pair.weighted.items()),
        _row(names, "Gwet's AC1", pair.ac1.estimate),
    ]
    rarer = f"agreement on the rarer, '{pair.rarer.name}'" if pair.rarer.name else "agreement on the rarer"
    rows.append(_row(names, rarer, pair.rarer.measured))
    rows.append(_row(names, "macro-F1", pair.by_class.macro_f1))
    return rows


def _panel_rows(panel: Panel) -> list[tuple[str, ...]]:
    names = "all" if len(panel.raters) != 2 else ", ".join(panel.raters)
    rows = [_row(names, "Fleiss' kappa", panel.fleiss.estimate)]
    if len(panel.raters) != 2:
        rows.append(_row(names, "Gwet's AC1", panel.ac1.estimate))
    rows.append(_row(names, f"Krippendorff's alpha, {panel.scale}", panel.alpha.estimate))
    if panel.icc is not None:
        rows.append(_row(names, "ICC(2,1)", panel.icc.estimate))
    if len(panel.raters) > 2 and panel.fleiss.left_out:
        say(f"Fleiss' kappa leaves out {panel.fleiss.left_out:,} items that some rater did not rate.")
    return rows


def _row(raters: str, statistic: str, measured: Measured) -> tuple[str, ...]:
    """One line of the table."""
    from lacre.scoring.estimates import Undefined  # noqa: PLC0415

    if isinstance(measured, Undefined):
        return raters, statistic, "undefined", "", "", "", f"{measured.n:,}", measured.reason
    error = "" if measured.standard_error is None else _figure(measured.standard_error)
    interval = measured.interval
    if isinstance(interval, Undefined):
        return (
            raters,
            statistic,
            _figure(measured.value),
            "",
            "",
            error,
            f"{measured.n:,}",
            f"none: {interval.reason}",
        )
    bounds = _figure(interval.lo), _figure(interval.hi)
    how = f"{interval.level:.10g}, {interval.method}"
    return raters, statistic, _figure(measured.value), *bounds, error, f"{measured.n:,}", how


def _figure(value: float) -> str:
    """Three places, and no minus before zero."""
    text = f"{value:.3f}"
    return text.removeprefix("-") if float(text) == 0 else text


def _print_classes(pair: Pair) -> None:
    """Agreement by category, and how well the second finds what the first, the reference, says."""
    names = ("category", "reference", "other", "agreement", "precision", "recall", "F1")
    rows = [
        (
            scores.category,
            f"{scores.support:,}",
            f"{scores.given:,}",
            *(
                _short(measured)
                for measured in (specific.measured, scores.precision, scores.recall, scores.f1)
            ),
        )
        for scores, specific in zip(pair.by_class.classes, pair.specific, strict=True)
    ]
    print_table(names, rows, right=names[1:])


def _short(measured: Measured) -> str:
    """A figure with its bounds, or why there is none."""
    from lacre.scoring.estimates import Undefined  # noqa: PLC0415

    if isinstance(measured, Undefined):
        return str(measured)
    interval = measured.interval
    if isinstance(interval, Undefined):
        return _figure(measured.value)
    return f"{_figure(measured.value)} [{_figure(interval.lo)}, {_figure(interval.hi)}]"


def _print_table(table: Confusion, pair: Pair) -> None:
    """The confusion matrix: rows are the first rater's labels."""
    names = (f"{pair.first} \\ {pair.second}", *table.categories)
    rows = [(name, *map(str, row)) for name, row in zip(table.categories, table.counts, strict=True)]
    print_table(names, rows, right=table.categories)


def _print_gate(gated: Gate) -> None:
    """The decision, with what stands beside it."""
    rows = [
        ("gate", gated.kind),
        ("statistic", f"{gated.statistic}: {gated.why}"),
        ("value", _short(gated.estimate)),
        ("minimum", f"{gated.minimum:.2f}"),
        ("n", f"{gated.n:,}"),
        ("decision", f"{'passes' if gated.passes else 'does not pass'}: {gated.reason}"),
        ("consequence", gated.consequence),
        *(("warning", warning) for warning in gated.warnings),
        *((beside.name, _short(beside.measured)) for beside in gated.beside),
    ]
    print_table(("gate of publication", ""), rows)
