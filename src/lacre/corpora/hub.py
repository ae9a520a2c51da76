"""Repositories of the Hub that hold no plain files: read as streams by the Hub's own library, ``datasets``."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from lacre.corpora.batches import Shard, TextBatch, Unread
from lacre.corpora.parquet import layout, rows_of
from lacre.corpora.remote import Unreachable, faults, plain, reason
from lacre.errors import sentence

ROWS = 1000


def is_repository(source: str) -> bool:
    """Whether a source is a whole dataset of the Hub, or a configuration of one.

    >>> is_repository("hf://datasets/owner/name#pt"), is_repository("hf://datasets/owner/name/data")
    (True, False)
    """
    return source.startswith("hf://datasets/") and plain(source).partition("#")[0].strip("/").count("/") == 2


def streamed_shards(source: str, revision: str, column: str | None, left_out: list[Unread]) -> list[Shard]:
    """The splits of a repository at a revision as shards; of the configuration after ``#`` alone where there is one.

    A repository that ``datasets`` does not read either is named among what is left out.
    """
    address, _, subset = source.partition("#")
    repository = "/".join(plain(address).partition("@")[0].split("/")[1:3])
    library = _library()
    try:
        names = library.get_dataset_config_names(repository, revision=revision)
        chosen = [subset] if subset in names else names
        parts = [
            (name, split)
            for name in chosen
            for split in library.get_dataset_split_names(repository, name, revision=revision)
        ]
    except _faults(library) as error:
        left_out.append(
            Unread(where=repository, reason=f"datasets: {reason(error)}", bytes=1, incomplete=True)
        )
        return []
    return [
        Shard(
            corpus=source,
            path=f"{name}/{split}",
            location=f"hf://datasets/{repository}@{revision}",
            format="streamed",
            compression=None,
            column=column,
            row_groups=None,
            size=0,
            mark=revision,
        )
        for name, split in sorted(parts)
    ]


def _library() -> Any:
    library: Any = import_module("datasets")  # heavy, and without types
    library.disable_progress_bars()
    return library


def _faults(library: Any) -> tuple[type[Exception], ...]:
    return (*faults(), ValueError, library.exceptions.DatasetsError)


def _stream(library: Any, shard: Shard) -> Any:
    repository, _, revision = plain(shard.location).removeprefix("datasets/").partition("@")
    name, _, split = shard.path.partition("/")
    found = library.load_dataset(repository, name, split=split, revision=revision, streaming=True)
    return found.with_format("arrow")


def check_streamed(shard: Shard) -> None:
    """Make sure that the text column is there, from the first rows.

    Raises:
        InputError: it is not there, or is not text.
        Unreachable: the Hub does not answer.
    """
    for _ in read_streamed(shard, rows=1):
        return


def read_streamed(shard: Shard, rows: int = ROWS) -> Iterator[TextBatch]:
    """The documents of a split, in order, some rows at a time.

    Raises:
        InputError: there is no such column, or it is not text.
        Unreachable: the Hub does not answer any more.
    """
    library = _library()
    row = 1
    try:
        shape = None
        for table in _stream(library, shard).iter(batch_size=rows):
            shape = shape or layout(table.schema, shard)
            for records in table.combine_chunks().to_batches():
                yield rows_of(records, shape, row)
                row += records.num_rows
    except _faults(library) as error:
        where = f"{shard.location}: {shard.path}, after row {row - 1:,}"
        raise Unreachable(sentence(where, reason(error), "Check the network")) from None
