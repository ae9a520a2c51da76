"""What changed from one release to another: items, files, results, rules, what is sealed."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from lacre.digest import canonical, sha256
from lacre.errors import IntegrityError, sentence
from lacre.registry.records import Record
from lacre.release.verify import ENVELOPE, SUMS, Tree, claim_of, commitments, read_sums, tree_of, verify

What = Literal["added", "removed", "changed", "opened"]


class Difference(Record, omit_defaults=False):
    """One thing that differs.

    Attributes:
        kind: item, file, result, rule, sealed. ``what``: added, removed, changed; of an item also opened.
        name: of the item, the file, the setting, the benchmark. ``before``, ``after``: of settings and counts.
    """

    kind: Literal["item", "file", "result", "rule", "sealed"]
    what: What
    name: str
    before: str | None = None
    after: str | None = None


class Diff(Record, omit_defaults=False):
    """All that differs, sorted by kind and name; the names of both releases."""

    before: str
    after: str
    differences: tuple[Difference, ...]

    def of(self, kind: str, what: str) -> tuple[str, ...]:
        """The names of one kind to which one thing happened."""
        return tuple(each.name for each in self.differences if (each.kind, each.what) == (kind, what))


def diff(before: Path, after: Path) -> Diff:
    """What changed between two releases, folders or tars.

    Raises:
        IntegrityError: one of them does not verify: nothing can be said of it then.
    """
    old, new = _sound(before), _sound(after)
    found = [*_files(old, new), *_items(old, new), *_rules(old, new), *_sealed(old, new)]
    return Diff(
        before=str(_claim(old)["release"]),
        after=str(_claim(new)["release"]),
        differences=tuple(sorted(found, key=lambda each: (each.kind, each.what, each.name))),
    )


def _sound(place: Path) -> Tree:
    outcome = verify(place)
    if outcome.verdict == "failed":
        fault = next(fault for check in outcome.checks for fault in check.faults)
        raise IntegrityError(sentence(place, f"does not verify: {fault}", "Run `lacre release verify`"))
    return tree_of(place)


def _claim(tree: Tree) -> dict[str, Any]:
    return claim_of(tree.read(ENVELOPE), ENVELOPE).predicate


def _changes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[What, str]]:
    yield from (("added", name) for name in new.keys() - old.keys())
    yield from (("removed", name) for name in old.keys() - new.keys())
    yield from (("changed", name) for name in old.keys() & new.keys() if old[name] != new[name])


def _files(old: Tree, new: Tree) -> Iterator[Difference]:
    sums = [read_sums(tree.read(SUMS)) for tree in (old, new)]
    for what, name in _changes(*sums):
        yield Difference(
            kind="result" if name.startswith(("results/", "runs/")) else "file", what=what, name=name
        )


_PUBLIC = re.compile(r"registry/([^/]+)/(?:official|open)/[^/]+\.jsonl")


def _items(old: Tree, new: Tree) -> Iterator[Difference]:
    opened = _openings(new) - _openings(old)
    for what, name in _changes(_digests(old), _digests(new)):
        yield Difference(
            kind="item", what="opened" if what == "added" and name in opened else what, name=name
        )
    # Defective, void and replaced items open without becoming open items.
    for name in opened - set(_digests(new)):
        yield Difference(kind="item", what="opened", name=name)


def _digests(tree: Tree) -> dict[str, str]:
    """The public items: id -> hash of what a reader of the item sees."""
    found = {}
    for name in tree.files:
        if _PUBLIC.fullmatch(name):
            for line in tree.read(name).splitlines():
                item = json.loads(line)
                found[item["id"]] = sha256(canonical({"cell": item["cell"], "payload": item["payload"]}))
    return found


def _openings(tree: Tree) -> set[str]:
    names = (
        name for name in tree.files if name.endswith("/openings.jsonl") and not name.startswith("previous/")
    )
    return {json.loads(line)["id"] for name in names for line in tree.read(name).splitlines()}


def _rules(old: Tree, new: Tree) -> Iterator[Difference]:
    before, after = _settings(old), _settings(new)
    for what, name in _changes(before, after):
        yield Difference(kind="rule", what=what, name=name, before=before.get(name), after=after.get(name))


def _settings(tree: Tree) -> dict[str, str]:
    """Every setting of the rules, by its full name."""
    found: dict[str, str] = {}
    for name in tree.files:
        if re.fullmatch(r"registry/(?:rules|[^/]+/benchmark)\.toml", name):
            place = name.removeprefix("registry/").removesuffix(".toml")
            for key, value in _leaves(tomllib.loads(tree.read(name).decode()), ()):
                found[f"{place}: {key}"] = json.dumps(value, ensure_ascii=False)
    return found


def _leaves(values: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _leaves(value, (*above, key))
        else:
            yield ".".join((*above, key)), value


def _sealed(old: Tree, new: Tree) -> Iterator[Difference]:
    before, after = (
        {name: each["private"] for name, each in _claim(tree)["benchmarks"].items()} for tree in (old, new)
    )
    for what, name in _changes(before, after):
        yield Difference(
            kind="sealed", what=what, name=name, before=_text(before.get(name)), after=_text(after.get(name))
        )
    for name in before.keys() & after.keys():
        lists = [
            tree.read(commitments(name)) if commitments(name) in tree.files else b"" for tree in (old, new)
        ]
        if before[name] == after[name] and lists[0] != lists[1]:
            count = _text(after[name])
            yield Difference(kind="sealed", what="changed", name=name, before=count, after=count)


def _text(count: int | None) -> str | None:
    return None if count is None else str(count)
