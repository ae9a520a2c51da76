"""The workspace on disk: the registry's folders and files, found, read, checked and made."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TypeVar

from lacre.errors import Fault, InputError, RecordError
from lacre.jsonl import Lines, read_lines, sync_folder, write_bytes
from lacre.registry.columns import default_columns_text
from lacre.registry.corpora import Corpus, corpus_faults
from lacre.registry.exams import Exam, exam_faults
from lacre.registry.intake import read_records
from lacre.registry.items import Item
from lacre.registry.layers import Surroundings, layer_faults
from lacre.registry.matrix import Matrix, read_matrix
from lacre.registry.records import Record
from lacre.registry.rules import Benchmark, Rules, default_rules_text, read_benchmark, read_rules

T = TypeVar("T")

PUBLIC_LAYERS = ("official", "open")
"""Layers whose items stand in the workspace; the private one is in the vault."""


class FileCheck(Record, omit_defaults=False):
    """One file of items: how many are good records, and what is wrong with it."""

    path: str
    items: int
    faults: tuple[FaultLine, ...]


class FaultLine(Record, omit_defaults=False):
    """A fault as it is printed: the line, what is wrong, what to do."""

    line: int
    what: str
    todo: str


class Workspace:
    """A registry and what is in it. Nothing is kept in memory: every call reads what is on disk now."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.registry = root / "registry"

    @classmethod
    def find(cls, start: Path) -> Workspace:
        """The workspace that ``start`` is in: the nearest folder upwards with ``registry/rules.toml``.

        Raises:
            InputError: there is none.
        """
        found = cls.search(start)
        if found is None:
            raise InputError(start, "is in no workspace", "Go to one, or make one with `lacre init`")
        return found

    @classmethod
    def search(cls, start: Path) -> Workspace | None:
        """As :meth:`find`, but none where there is no workspace."""
        here = start.absolute()
        folders = (
            folder for folder in (here, *here.parents) if (folder / "registry" / "rules.toml").is_file()
        )
        root = next(folders, None)
        return None if root is None else cls(root)

    @property
    def boilerplate(self) -> Path:
        """The file of phrases that are exam language, not content."""
        return self.registry / "boilerplate.txt"

    def rules(self) -> Rules:
        """The shared rules of this workspace."""
        return read_rules(self.registry / "rules.toml")

    def benchmarks(self) -> tuple[str, ...]:
        """The names of the benchmarks, sorted."""
        return tuple(sorted(path.parent.name for path in self.registry.glob("*/benchmark.toml")))

    def benchmark(self, name: str) -> Benchmark:
        """A benchmark with the rules that hold for it.

        Raises:
            InputError: there is no such benchmark, or its name is not that of its folder.
            RecordError: its file says what it may not.
        """
        if name not in self.benchmarks():
            known = ", ".join(self.benchmarks()) or "none"
            raise InputError(self.registry, f"no benchmark '{name}'", f"There are: {known}")
        path = self.registry / name / "benchmark.toml"
        benchmark = read_benchmark(path, self.rules())
        if benchmark.name != name:
            raise InputError(
                path, f"name '{benchmark.name}' is not that of the folder", f'Write name = "{name}"'
            )
        return benchmark

    def matrix(self, name: str) -> Matrix:
        """The matrix of a benchmark."""
        return read_matrix(self.registry / name / "matrix.toml")

    def exams(self) -> dict[str, Exam]:
        """The official exams, by id; empty when the file is not there."""
        return {exam.id: exam for exam in _checked(self.registry / "exams.jsonl", Exam, exam_faults)}

    def corpora(self) -> dict[str, Corpus]:
        """The public corpora, by id; empty when the file is not there."""
        return {
            corpus.id: corpus for corpus in _checked(self.registry / "corpora.jsonl", Corpus, corpus_faults)
        }

    def required_corpora(self, name: str) -> tuple[str, ...]:
        """The ids of the corpora that the items of a benchmark must be checked against (L7), as its rules name them.

        Raises:
            InputError: one is not in the inventory.
        """
        required = self.benchmark(name).rules.vetting.required_corpora
        known = self.corpora()
        strangers = [corpus for corpus in required if corpus not in known]
        if strangers:
            raise InputError(
                self.registry / name / "benchmark.toml",
                f"required corpus '{strangers[0]}' is not in corpora.jsonl",
                "Add it there, with what is known about it, or correct its id",
            )
        return required

    def item_files(self, name: str) -> tuple[Path, ...]:
        """The files of a benchmark's public items, sorted."""
        folder = self.registry / name
        return tuple(
            sorted(path for layer in (*PUBLIC_LAYERS, "private") for path in _item_files(folder / layer))
        )

    def items(self, name: str) -> list[Item]:
        """The public items of a benchmark, sorted by id.

        Raises:
            RecordError: a file breaks the rules; all faults of the first such file are listed.
        """
        checked = self._item_faults(name)
        for path, _, faults in checked:
            if faults:
                raise RecordError(path, faults)
        return sorted((item for _, items, _ in checked for item in items), key=lambda item: item.id)

    def check(self, name: str) -> list[FileCheck]:
        """All that is wrong with a benchmark's files of items (L1)."""
        return [file_check(path, len(items), faults) for path, items, faults in self._item_faults(name)]

    def surroundings(self, name: str) -> Surroundings:
        """What items of a benchmark are checked against."""
        return Surroundings(
            open_licence=self.benchmark(name).rules.layers.open_licence,
            benchmark=name,
            matrix=self.matrix(name),
            exams=self.exams(),
        )

    def holds(self, path: Path) -> bool:
        """Whether a path lies in this workspace, links followed."""
        return path.resolve().is_relative_to(self.root.resolve())

    def _item_faults(self, name: str) -> list[tuple[Path, list[Item], list[Fault]]]:
        """Each file of a benchmark with its items and faults."""
        around = self.surroundings(name)
        seen: dict[str, str] = {}
        checked: list[tuple[Path, list[Item], list[Fault]]] = []
        for path in self.item_files(name):
            lines = read_lines(path, Item)
            here = Surroundings(
                open_licence=around.open_licence,
                benchmark=name,
                layer=path.parent.name,
                matrix=around.matrix,
                exams=around.exams,
                in_workspace=True,
            )
            faults = [*lines.faults, *layer_faults(lines.records, here), *_unsorted(lines)]
            for line, item in lines.records:
                place = f"{path.relative_to(self.root)}:{line}"
                first = seen.setdefault(item.id, place)
                if first.rpartition(":")[0] != place.rpartition(":")[0]:
                    faults.append(
                        Fault(line, f"item '{item.id}' is already in {first}", "Keep one of the two")
                    )
            faults.sort(key=lambda fault: fault.line)
            checked.append((path, [item for _, item in lines.records], faults))
        return checked


def check_file(path: Path, around: Surroundings) -> FileCheck:
    """All that is wrong with one file in the record format, compressed or not.

    Raises:
        InputError: the file is missing, damaged or empty, or holds plain rows.
    """
    lines = read_records(path)
    faults = [*lines.faults, *layer_faults(lines.records, around), *_unsorted(lines)]
    return file_check(path, len(lines.records), sorted(faults, key=lambda fault: fault.line))


def file_check(path: Path, items: int, faults: Sequence[Fault]) -> FileCheck:
    """The record of a check."""
    return FileCheck(
        path=str(path),
        items=items,
        faults=tuple(FaultLine(line=f.line, what=f.what, todo=f.todo) for f in faults),
    )


def _item_files(folder: Path) -> list[Path]:
    """Files of items in a layer's folder; commitments are rows about private items, not items."""
    return [path for path in folder.glob("*.jsonl") if path.name != "commitments.jsonl"]


def _unsorted(lines: Lines[Item]) -> list[Fault]:
    """A fault for the first line that is out of order."""
    ids = [item.id for _, item in lines.records]
    for (line, item), before in zip(lines.records[1:], ids, strict=False):
        if item.id < before:
            return [Fault(line, f"item '{item.id}' comes after '{before}'", "Sort the file by id")]
    return []


def _checked(path: Path, kind: type[T], rules: Callable[[Sequence[tuple[int, T]]], list[Fault]]) -> list[T]:
    """The records of a registry file; every bad line, and every break of its rules, is in the error."""
    if not path.exists():
        return []
    lines = read_lines(path, kind)
    faults = [*lines.faults, *rules(lines.records)]
    if faults:
        raise RecordError(path, sorted(faults, key=lambda fault: fault.line))
    return [record for _, record in lines.records]


_BOILERPLATE = """\
# Phrases that are exam language, not content: a match inside one is called boilerplate.
# One phrase a line, then a tab, who approved it, a tab, and when (YYYY-MM-DD).
# Lines that begin with # are notes.
"""

_README = """\
# Registry

- `rules.toml`: the shared rules, each with the promise it serves
- `exams.jsonl`: official exams: dates, keys, booklets, each with its source
- `corpora.jsonl`: public text to check items against
- `boilerplate.txt`: phrases that are exam language, not content
- `columns.toml`: the systems that are measured, and how each is asked
- `templates/`: the literal messages that they are sent
"""

_README_BENCHMARK = """\
- `{name}/benchmark.toml`: what this benchmark changes of the shared rules
- `{name}/matrix.toml`: its axes, its cells, the share of items for each
- `{name}/official/`: public exam items with a final key, one a line in `*.jsonl`
- `{name}/open/`: new items under an open licence, one a line in `*.jsonl`

Private items are never here: not in any file of this workspace.
"""

_BENCHMARK = """\
# What this benchmark changes of registry/rules.toml, and nothing else.
name = "{name}"
title = "{name}"
"""

_MATRIX = """\
# The axes of this benchmark, and the share of items that each cell is meant to hold. The shares sum to 1.
[axes]
subject = ["general"]
difficulty = ["easy", "hard"]

[[cells]]
subject = "general"
difficulty = "easy"
share = "0.5"

[[cells]]
subject = "general"
difficulty = "hard"
share = "0.5"
"""


def create_workspace(
    folder: Path, benchmark: str | None = None, *, more: Mapping[str, str] = MappingProxyType({})
) -> tuple[Path, ...]:
    """Make a registry in ``folder``, all of it or nothing, and return its files relative to it, sorted.

    ``more`` holds the texts of further files, by name, of which the registry knows nothing.

    Raises:
        InputError: there is a registry already, the folder cannot be made, or the benchmark's name is not
            plain.
    """
    if benchmark is not None and not (
        benchmark.isascii() and benchmark.replace("-", "").replace("_", "").isalnum()
    ):
        raise InputError(f"benchmark '{benchmark}'", "is not a plain name", "Use letters, digits, - and _")
    registry = folder / "registry"
    if registry.exists() and (not registry.is_dir() or any(registry.iterdir())):
        raise InputError(
            registry, "is there already and is not empty", "Choose another folder, or work in this one"
        )
    draft = folder / f".registry.{os.getpid()}.part"
    try:
        draft.mkdir(parents=True)
        for name, text in {**_first_files(benchmark), **more}.items():
            write_bytes(draft / name, text.encode())
        draft.replace(registry)
        sync_folder(folder)
    except OSError as error:
        raise InputError(
            folder, f"no registry could be made there ({error.strerror})", "Choose another"
        ) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return tuple(sorted(path.relative_to(folder) for path in registry.rglob("*") if path.is_file()))


def _first_files(benchmark: str | None) -> dict[str, str]:
    """Names and texts of the files of a new registry."""
    texts = {
        "README.md": _README + (_README_BENCHMARK.format(name=benchmark) if benchmark else ""),
        "rules.toml": default_rules_text(),
        "exams.jsonl": "",
        "corpora.jsonl": "",
        "boilerplate.txt": _BOILERPLATE,
        "columns.toml": default_columns_text(),
    }
    if benchmark:
        texts |= {
            f"{benchmark}/benchmark.toml": _BENCHMARK.format(name=benchmark),
            f"{benchmark}/matrix.toml": _MATRIX,
            # git keeps no empty folders.
            f"{benchmark}/official/.gitkeep": "",
            f"{benchmark}/open/.gitkeep": "",
        }
    return texts
