"""What goes into a release, gathered from a workspace by a list of what may; everything else is named as left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

import msgspec

from lacre.digest import sha256_file
from lacre.errors import Fault, InputError, LacreError, RecordError, sentence
from lacre.registry.items import Item
from lacre.registry.workspace import Workspace
from lacre.release.verify import name_fault

SHARED = (
    "README.md",
    "rules.toml",
    "exams.jsonl",
    "corpora.jsonl",
    "boilerplate.txt",
    "columns.toml",
    "ledger.jsonl",
    "templates/*.txt",
    "judges/*",
    "guide/*",
)
"""Files of the registry that every release holds, where they are there."""

OWN = (
    "benchmark.toml",
    "matrix.toml",
    "official/*.jsonl",
    "open/*.jsonl",
    "private/commitments.jsonl",
    "private/runs/*.json",
    "private/tables/*.json",
    "rounds/*/freeze.dsse.json",
    "rounds/*/given-up-*.freeze.dsse.json",
    "rounds/*/freeze.tsr",
    "rounds/*/randomness.json",
    "rounds/*/draw.json",
    "rounds/*/openings.jsonl",
    "rounds/*/scores-opened.jsonl",
    "guide/*",
    "results/*",
    "scores/*",
)
"""Files of a benchmark's folder that a release holds; images of its items besides."""

RUN = ("run.json", "journal.jsonl", "answers*.jsonl", "classified*.jsonl", "verdicts*.jsonl", "*.csv")
"""Files of a run's folder that a release holds."""


@dataclass(slots=True)
class Contents:
    """The files of a release as they stand in the workspace, by their name in the release.

    Attributes:
        items: public items, by benchmark, sorted by id.
        images: names of images of items, whose bytes may not change.
        left_out: files that stand among those taken and are of no kind that a release holds.
    """

    files: dict[str, Path] = field(default_factory=dict)
    items: dict[str, list[Item]] = field(default_factory=dict)
    images: set[str] = field(default_factory=set)
    left_out: list[str] = field(default_factory=list)


def gather(
    workspace: Workspace,
    benchmarks: Sequence[str],
    *,
    runs: Sequence[Path] = (),
    results: Sequence[Path] = (),
) -> Contents:
    """Everything public of some benchmarks, with runs on their open and official items, and results.

    Raises:
        LacreError: lists all that keeps it from being released: items that break their layer's rules, official
            ones without booklet or dates, images that are missing or changed, names that are not plain, runs
            that hold answers to other items.
    """
    contents = Contents()
    registry = workspace.registry
    _take(contents, registry, "registry", SHARED, _files(registry, shallow=True))
    faults: list[str] = []
    for name in benchmarks:
        faults += _item_faults(workspace, name)
        folder = registry / name
        images = {path for layer in ("official", "open") for path in _images(workspace, name, layer, faults)}
        contents.images |= {f"registry/{name}/{path}" for path in images}
        _take(contents, folder, f"registry/{name}", (*OWN, *sorted(images)), _files(folder))
        if not faults:
            contents.items[name] = workspace.items(name)
    # Answers to an open-ended item are about one part of it each.
    public = {
        name
        for items in contents.items.values()
        for item in items
        for name in (item.id, *(f"{item.id}#{part.id}" for part in item.payload.parts))
    }
    for run in runs:
        if not faults:
            faults += _run_faults(run, public)
        _take(contents, run, f"runs/{run.name}", RUN, _files(run))
    for place in results:
        _take_results(contents, place)
    faults += [sentence(name, what, "Rename it") for name in contents.files if (what := name_fault(name))]
    if faults:
        raise LacreError("\n".join(faults))
    return contents


def _files(folder: Path, *, shallow: bool = False) -> list[str]:
    """The files below a folder, relative to it and sorted; of a registry only what is not a benchmark's."""
    if not folder.is_dir():
        raise InputError(folder, "is no folder", "Check the path")
    return sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file() and not (shallow and _in_benchmark(path, folder))
    )


def _in_benchmark(path: Path, registry: Path) -> bool:
    first = path.relative_to(registry).parts[0]
    return (registry / first / "benchmark.toml").exists()


def _take(contents: Contents, folder: Path, place: str, kinds: Iterable[str], files: Iterable[str]) -> None:
    known = tuple(kinds)
    for name in files:
        if any(_is(name, kind) for kind in known):
            contents.files[f"{place}/{name}"] = folder / name
        elif Path(name).name not in (".gitkeep", "release.toml"):
            contents.left_out.append(f"{place}/{name}")


def _is(name: str, kind: str) -> bool:
    """Whether a name is of a kind; ``*`` stands for no slash, but at the end, after one, for any files below."""
    if kind.endswith("/*") and name.startswith(kind[:-1]):
        return True
    return fnmatchcase(name, kind) and name.count("/") == kind.count("/")


def _take_results(contents: Contents, place: Path) -> None:
    if place.is_dir():
        for name in _files(place):
            contents.files[f"results/{place.name}/{name}"] = place / name
    elif place.is_file():
        contents.files[f"results/{place.name}"] = place
    else:
        raise InputError(place, "no such file or folder", "Check the path")


def _item_faults(workspace: Workspace, name: str) -> Iterator[str]:
    """What keeps a benchmark's items from being released, one line each (L1, L5)."""
    exams = workspace.exams()
    for checked in workspace.check(name):
        yield from (sentence(f"{checked.path}:{each.line}", each.what, each.todo) for each in checked.faults)
    for path in workspace.item_files(name):
        for number, item in _items_of(path):
            exam = exams.get(item.source.exam or "")
            if item.layer != "official" or exam is None:
                continue  # an official item without exam is among the faults above
            if not (item.source.url or exam.booklet_url).strip():
                yield sentence(f"{path}:{number}", f"item '{item.id}' has no booklet", "Write source.url")


def _items_of(path: Path) -> list[tuple[int, Item]]:
    from lacre.jsonl import read_lines  # noqa: PLC0415

    return list(read_lines(path, Item).records)


def _images(workspace: Workspace, name: str, layer: str, faults: list[str]) -> Iterator[str]:
    """The images of a layer's items, relative to the benchmark's folder; what is wrong with one joins the faults."""
    folder = workspace.registry / name / layer
    for path in workspace.item_files(name):
        for number, item in _items_of(path):
            for image in item.payload.images if item.layer == layer else ():
                file = folder / image.file
                where = f"{path}:{number}"
                if not file.is_file() or not file.resolve().is_relative_to(folder.resolve()):
                    faults.append(
                        sentence(where, f"image '{image.file}' is not there", f"Put it into {folder}")
                    )
                elif sha256_file(file) != image.sha256:
                    faults.append(
                        sentence(where, f"image '{image.file}' is not the one of the item", "Restore it")
                    )
                else:
                    yield f"{layer}/{image.file}"


class _About(msgspec.Struct, frozen=True):
    """The item that a line of a run is about; other fields are passed over."""

    item: str = ""


def _run_faults(run: Path, public: set[str]) -> Iterator[str]:
    """Answers to items that are not public: such a run is never released."""
    decoder = msgspec.json.Decoder(_About)
    for path in sorted(run.glob("*.jsonl")):
        faults: list[Fault] = []
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    item = decoder.decode(line).item
                except (msgspec.DecodeError, UnicodeDecodeError):
                    faults.append(Fault(number, "is no line of a run", "Restore it, or leave the run out"))
                    continue
                if item and item not in public:
                    todo = "Only runs on public items are released; take this one out"
                    faults.append(Fault(number, f"item '{item}' is no public item of the release", todo))
        if faults:
            yield str(RecordError(path, faults))
