"""A look at a corpus where it lies: how large it is, its columns, whether it is gated, which revision it is at."""

from __future__ import annotations

from contextlib import closing
from importlib import import_module
from typing import Any

import msgspec
import pyarrow as pa

from lacre.corpora.addresses import pinned
from lacre.corpora.batches import Shard
from lacre.corpora.compression import READ_BYTES, unpacked
from lacre.corpora.lines import records_of
from lacre.corpora.parquet import parquet_file
from lacre.corpora.readers import check
from lacre.corpora.remote import filesystem, is_address, plain, shown, tried
from lacre.corpora.sources import TABLE_FORMATS, Listing, shards
from lacre.digest import sha256
from lacre.errors import InputError
from lacre.registry.corpora import Seen


def look_at(source: str, column: str | None = None) -> Seen:
    """What can be seen of a corpus: only lists, and the head of one file, are read.

    Raises:
        InputError: nothing is there, or the text column that was named is not.
        Unreachable: it cannot be reached.
    """
    listing = shards(source, column=column)
    if column is not None:
        _check_column(source, listing)
    about = _repository(source)
    # Parts of one file are counted once.
    sizes = {(shard.location, shard.path): shard.size for shard in listing.shards}
    return Seen(
        size=sum(sizes.values()) or None,
        files=len(sizes),
        columns=_columns(listing),
        gated=None if about is None else bool(about.gated),
        revision=listing.revision or _marks(source, listing),
        licence=_licence(about),
    )


def _check_column(source: str, listing: Listing) -> None:
    """Raises InputError when the first table has no such text column, or nothing here is a table."""
    table = next((shard for shard in listing.shards if shard.format in TABLE_FORMATS), None)
    if table is None:
        raise InputError(shown(source), "has no columns: it is no table", "Leave --column out")
    check(table)


def _marks(source: str, listing: Listing) -> str:
    """What changes when a file at an address does, as its server tells; "" where none does, or it lies on disk."""
    marks = {shard.path: shard.mark for shard in listing.shards}
    if not is_address(source) or not all(marks.values()):
        return ""
    if len(marks) == 1:
        return next(iter(marks.values())).removeprefix("W/").strip('"')
    return sha256(msgspec.json.encode(sorted(marks.items())))


def _repository(source: str) -> Any:
    """What the Hub says of a repository; none for what is no repository."""
    if not source.startswith("hf://"):
        return None
    address = source.partition("#")[0]
    system = filesystem(address)
    path, revision = pinned(address, system)
    kind, *names = path.partition("@")[0].split("/")
    api: Any = import_module("huggingface_hub").HfApi(endpoint=system.endpoint, token=system.token)
    repository = "/".join(names[:2])
    return tried(source, lambda: api.repo_info(repository, repo_type=kind.rstrip("s"), revision=revision))


def _licence(about: Any) -> str | None:
    card = getattr(about, "card_data", None)
    found = card.get("license") if card is not None else None
    return found if isinstance(found, str) else None


def _columns(listing: Listing) -> tuple[str, ...]:
    """The columns of the first table, none where there is no table."""
    for shard in listing.shards:
        if shard.format == "parquet":
            return _parquet_columns(shard)
        if shard.format == "jsonl":
            with closing(unpacked(msgspec.structs.replace(shard, span=None))) as stream:
                head = stream.read(READ_BYTES)
            names = dict.fromkeys(name for record in records_of(head) for name in record)
            return tuple(names)
    return ()


def _parquet_columns(shard: Shard) -> tuple[str, ...]:
    try:
        with parquet_file(shard.location, shard.size) as file:
            return tuple(file.schema_arrow.names)
    except (pa.ArrowException, OSError):
        return ()


def page_of(source: str, revision: str) -> str:
    """Where a person sees what was seen: the page of a repository at a revision, else the address itself.

    >>> page_of("hf://datasets/o/c#pt", "abc")
    'https://huggingface.co/datasets/o/c/tree/abc'
    >>> page_of("s3://bucket/texts", "")
    's3://bucket/texts'
    """
    if not source.startswith("hf://"):
        return shown(source)
    names = plain(source.partition("#")[0]).partition("@")[0].split("/")
    return f"https://huggingface.co/{'/'.join(names[:3])}/tree/{revision or 'main'}"
