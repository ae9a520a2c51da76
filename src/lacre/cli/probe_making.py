"""What each command of ``lacre probe`` asks: items, controls and famous texts; the canary; the exams' dates."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from lacre.cli.column import read_workspace_columns
from lacre.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lacre.probe.completion import Mode, Probe
    from lacre.probe.controls import Balance, Fresh, Subject
    from lacre.probe.folders import AnyProbe
    from lacre.probe.freshness import ExamsFreshness
    from lacre.registry.items import Item
    from lacre.registry.workspace import Workspace


@dataclass(frozen=True, kw_only=True)
class Made:
    """A probe that is ready to be asked, and what a person should know of it first."""

    probe: AnyProbe
    stage: str
    source: str
    remarks: tuple[str, ...] = ()


def completion_probe(
    benchmark: str | None,
    layer: str,
    wanted: Sequence[str],
    controls: Sequence[str],
    most: int,
    *,
    cuts: Sequence[int],
    mode: str,
    famous: bool,
) -> Made:
    """The completion probe of a layer, with its controls."""
    from lacre.probe import completion as probing  # noqa: PLC0415
    from lacre.probe.controls import fresh, matched  # noqa: PLC0415
    from lacre.probe.cuts import CUTS, HALF  # noqa: PLC0415
    from lacre.registry.boilerplate import read_phrases  # noqa: PLC0415
    from lacre.text import words  # noqa: PLC0415

    place, name = _benchmark(benchmark)
    exams = place.exams()
    phrases = tuple(
        tuple(word.folded for word in words(phrase.text)) for phrase in read_phrases(place.boilerplate)
    )
    chosen = _items(place, name, layer, wanted)
    items = [probing.subject_of(item, exams, role="item") for item in chosen]
    sources, pool_items = _controls(place, name, layer, controls, {item.id for item in chosen})
    new = fresh(
        (probing.subject_of(item, {}, role="control") for item in pool_items),
        (probing.subject_of(item, {}, role="item") for item in _seeable(place, name, chosen)),
    )
    judgeable = [each for each in new.controls if probing.is_judgeable(each, phrases)]
    asked_for = [each for each in items if probing.is_judgeable(each, phrases)]
    found = matched(asked_for, judgeable, most)
    positive: tuple[Subject, ...] = probing.famous() if famous else ()
    probe = probing.Probe(
        benchmark=name,
        layer=layer,
        mode=cast("Mode", mode),
        cuts=tuple(sorted({HALF, *(cuts or CUTS)})),
        phrases=phrases,
        prompts=probing.prompts_of(cast("Mode", mode)),
        subjects=(*items, *found.controls, *positive),
        controls_source=sources,
        pool=len(new.controls),
        same_group=found.balance.same_group,
    )
    return Made(
        probe=probe,
        stage=probing.STAGE,
        source=f"{name}, layer {layer}",
        remarks=(*_remarks(probe, items, len(asked_for), found.balance), *_left_out(new)),
    )


def _remarks(probe: Probe, items: Sequence[Subject], judgeable: int, balance: Balance) -> tuple[str, ...]:
    """What a person should know of a completion probe before it is asked."""
    from lacre.probe.cuts import HALF, cut  # noqa: PLC0415
    from lacre.probe.telling import telling  # noqa: PLC0415

    reasons = Counter(telling(cut(each.text, HALF), probe.phrases).why_not for each in items)
    told = [f"{judgeable:,} of {len(items):,} items of layer {probe.layer} can be probed"]
    told += [f"{count:,} cannot be probed: {reason}" for reason, count in sorted(reasons.items()) if reason]
    if not judgeable:
        told.append(
            "No item can be probed: controls and famous texts alone tell how well the probe works, and cost requests"
        )
    if balance.controls:
        told.append(
            f"{balance.controls:,} controls ({probe.controls_source}), of {balance.pool:,} that can be probed; "
            f"{balance.same_group:,} matched in subject; mean length {balance.control_words:.0f} words, "
            f"items {balance.item_words:.0f}"
        )
    else:
        told.append(
            f"No controls ({probe.controls_source}): official items after a column's declared cutoff take their "
            "place, or else replies held against other items' rests, which say less"
        )
    return tuple(told)


def _seeable(place: Workspace, name: str, chosen: Sequence[Item]) -> list[Item]:
    """The items that a column may have read: those probed, and every official one."""
    ids = {item.id for item in chosen}
    return [item for item in place.items(name) if item.layer == "official" or item.id in ids]


def _left_out(new: Fresh) -> Iterator[str]:
    """What became of controls that are none."""
    if new.of_items:
        yield (
            f"{new.of_items:,} controls are left out: more than half of each stands in an item that may have been seen"
        )
    if new.twins:
        yield f"{new.twins:,} controls are left out: another one has the same words"


def options_probe(
    benchmark: str | None, layer: str, wanted: Sequence[str], controls: Sequence[str], most: int
) -> Made:
    """The probe of masked options of a layer, with its controls."""
    from lacre.probe.completion import subject_of  # noqa: PLC0415
    from lacre.probe.controls import fresh  # noqa: PLC0415
    from lacre.probe.options import STAGE, Masked, OptionsProbe, masked  # noqa: PLC0415

    place, name = _benchmark(benchmark)
    chosen = _items(place, name, layer, wanted)
    sources, pool = _controls(place, name, layer, controls, {item.id for item in chosen})
    items = [masked(item, "item") for item in chosen]
    new = fresh(
        (subject_of(item, {}, role="control") for item in pool),
        (subject_of(item, {}, role="item") for item in _seeable(place, name, chosen)),
    )
    kept = {each.id for each in new.controls}
    others = [
        each for item in pool if item.id in kept and isinstance(each := masked(item, "control"), Masked)
    ]
    left_out = dict(sorted(Counter(each for each in items if isinstance(each, str)).items()))
    usable = [each for each in items if isinstance(each, Masked)]
    probe = OptionsProbe(benchmark=name, layer=layer, masked=(*usable, *others[:most]), left_out=left_out)
    remarks = [f"{len(usable):,} of {len(items):,} items of layer {layer} have an option to mask"]
    remarks += [f"{count:,} left out: {reason}" for reason, count in left_out.items()]
    remarks += [f"{len(others[:most]):,} controls ({sources})", *_left_out(new)]
    return Made(probe=probe, stage=STAGE, source=f"{name}, layer {layer}", remarks=tuple(remarks))


def canary_of(text: str | None) -> Made:
    """The probe of the workspace's canary, or of the one given."""
    from lacre.digest import sha256  # noqa: PLC0415
    from lacre.probe.canary import STAGE, canary_probe  # noqa: PLC0415
    from lacre.registry.workspace import Workspace  # noqa: PLC0415
    from lacre.release.canary import read_canary  # noqa: PLC0415

    line = text if text is not None else read_canary(Workspace.find(Path.cwd()).root).text
    # The decoys follow from the canary, so that a second probe asks the same.
    seed = int(sha256(line.encode())[:12], 16)
    return Made(probe=canary_probe(line, seed), stage=STAGE, source="canary")


def freshness_of(
    benchmark: str | None, runs: Sequence[Path], ids: Sequence[str], day: str | None
) -> ExamsFreshness:
    """How fresh the exams of a benchmark's official layer were, for the columns of runs or on a day."""
    import msgspec  # noqa: PLC0415

    from lacre.engine.folders import RunFolder  # noqa: PLC0415
    from lacre.engine.journal import Replied  # noqa: PLC0415
    from lacre.probe.freshness import Asking, asking, freshness  # noqa: PLC0415
    from lacre.registry.exams import is_dated  # noqa: PLC0415

    place, name = _benchmark(benchmark)
    official = [item for item in place.items(name) if item.layer == "official"]
    found: list[Asking] = []
    silent: set[str] = set()
    for run in runs:
        folder = RunFolder.open(run)
        times: dict[str, list[str]] = {}
        for entry in folder.entries():
            if isinstance(entry, Replied):
                times.setdefault(entry.column, []).append(entry.when)
        for card in folder.record().columns:
            one = asking(card, times.get(card.id, ()))
            if one is None:
                silent.add(card.id)
            else:
                found.append(one)
    if day is not None:
        if not is_dated(day, "day"):
            raise InputError("--on", f"'{day}' is no day", "Write it as 2026-03-31")
        if not ids:
            raise InputError("--on", "for which columns?", "Name them with --column")
        for card in read_workspace_columns(ids).named(ids):
            found += [one for one in (asking(card, [day]),) if one]
    if not found:
        raise InputError("--run", "no column has replied there", "Name the folder of a run that has replies")
    told = freshness(official, place.exams(), found)
    return msgspec.structs.replace(told, not_asked=tuple(sorted(silent - {one.column for one in found})))


def _benchmark(name: str | None) -> tuple[Workspace, str]:
    """The workspace that we are in, and the benchmark that is meant."""
    from lacre.registry.workspace import Workspace  # noqa: PLC0415

    place = Workspace.find(Path.cwd())
    known = place.benchmarks()
    if name is None:
        if len(known) != 1:
            raise InputError("probe", f"which benchmark? There are: {', '.join(known) or 'none'}", "Name it")
        name = known[0]
    place.benchmark(name)
    return place, name


def _items(place: Workspace, name: str, layer: str, wanted: Sequence[str]) -> list[Item]:
    """The items to probe.

    Raises:
        InputError: they are private, or there are none.
    """
    if layer == "private":
        raise InputError(
            "--layer", "private items are never probed: a prompt is a publication", "Probe official or open"
        )
    private = _private_ids(place)
    if secret := sorted(set(wanted) & private):
        raise InputError(
            "--item", f"'{secret[0]}' is a private item, and never probed", "Probe official or open ones"
        )
    items = [item for item in place.items(name) if item.layer == layer]
    if missing := [id for id in wanted if id not in {item.id for item in items}]:
        raise InputError(
            "--item", f"not in layer {layer}: {', '.join(missing)}", "List them with `lacre items list`"
        )
    if not items:
        raise InputError(f"benchmark '{name}'", f"has no items in layer {layer}", "Choose another --layer")
    return [item for item in items if not wanted or item.id in wanted]


def _private_ids(place: Workspace) -> frozenset[str]:
    """The ids of private items that the workspace knows of; those that opened since are private no more."""
    from lacre.jsonl import read  # noqa: PLC0415
    from lacre.sealing.commitments import Row  # noqa: PLC0415

    files = sorted(place.registry.glob("*/private/commitments.jsonl"))
    public = {item.id for name in place.benchmarks() for item in place.items(name) if item.layer != "private"}
    return frozenset(row.id for path in files for row in read(path, Row)) - public


def _controls(
    place: Workspace, name: str, layer: str, wanted: Sequence[str], taken: set[str]
) -> tuple[str, list[Item]]:
    """Where controls are from, in words, and the items that may be some.

    Raises:
        InputError: a file of controls holds private items.
    """
    from lacre.registry.intake import candidates  # noqa: PLC0415
    from lacre.registry.items import Item  # noqa: PLC0415
    from lacre.registry.tables import read_table  # noqa: PLC0415

    sources = list(wanted) or (["open"] if layer != "open" else ["none"])
    private = _private_ids(place)
    found: dict[str, Item] = {}
    for source in sources:
        if source == "none":
            continue
        if source == "open":
            if layer == "open":
                raise InputError("--controls", "the open layer is what is probed", "Give a file of new items")
            found |= {item.id: item for item in place.items(name) if item.layer == "open"}
            continue
        path = Path(source)
        rows = candidates(path).items
        layers = {str(row.values.get("id")): row.values.get("layer") for row in read_table(path).rows}
        if secret := [row.id for row in rows if row.id in private or layers.get(row.id) == "private"]:
            raise InputError(
                path,
                f"holds {len(secret)} private items, such as '{secret[0]}'",
                "They go to no column by a probe",
            )
        found |= {
            row.id: Item(id=row.id, benchmark=name, layer="open", cell={}, payload=row.payload)
            for row in rows
        }
    said = [
        "the open layer" if source == "open" else "no new items" if source == "none" else source
        for source in sources
    ]
    return ", ".join(said), [item for id, item in sorted(found.items()) if id not in taken]
