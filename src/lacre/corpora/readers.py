"""From a shard to batches of text."""

from __future__ import annotations

from collections.abc import Iterator

from lacre.corpora.batches import BATCH_BYTES, Shard, TextBatch, Unread
from lacre.corpora.delimited import check_delimited, read_delimited
from lacre.corpora.documents import check_json, is_lines, read_json
from lacre.corpora.hub import check_streamed, read_streamed
from lacre.corpora.lines import check_lines, read_lines
from lacre.corpora.markup import read_markup
from lacre.corpora.parquet import check_parquet, read_parquet
from lacre.corpora.pieces import SMALLEST_BATCH, nothing, sized
from lacre.corpora.prose import read_prose
from lacre.errors import InputError


def read(shard: Shard, *, batch_bytes: int = BATCH_BYTES) -> Iterator[TextBatch]:
    """The text of a shard in batches of ``batch_bytes`` or fewer; memory is bounded by the batch, never by
    the file.

    What could not be read is in the batches' ``unread``; one of them is ``incomplete`` when the end was not
    reached.

    Raises:
        InputError: there is no such column, or none that is the text; ``batch_bytes`` is under 16 KiB.
        Unreachable: the shard is at an address that cannot be reached any more.
    """
    if batch_bytes < SMALLEST_BATCH:
        raise InputError("batch_bytes", f"{batch_bytes} is too small", f"Give {SMALLEST_BATCH} or more")
    try:
        yield from sized(_batches(shard, batch_bytes), batch_bytes)
    except OSError as error:
        reason = error.strerror or str(error)
        yield nothing(Unread(where="after byte 0", reason=reason, bytes=max(shard.size, 1), incomplete=True))


def _batches(shard: Shard, batch_bytes: int) -> Iterator[TextBatch]:
    match shard.format:
        case "jsonl":
            return read_lines(shard)
        case "json":
            return read_lines(shard) if is_lines(shard) else read_json(shard)
        case "csv" | "tsv":
            return read_delimited(shard)
        case "parquet":
            return read_parquet(shard, batch_bytes)
        case "streamed":
            return read_streamed(shard)
        case "html" | "xml":
            return read_markup(shard, batch_bytes)
        case _:
            return read_prose(shard, batch_bytes)


def check(shard: Shard) -> None:
    """Make sure, from the head of a shard, that it can be read: that its text column is there.

    Raises:
        InputError: it is not; the message lists the columns.
    """
    try:
        match shard.format:
            case "jsonl":
                check_lines(shard)
            case "json":
                check_lines(shard) if is_lines(shard) else check_json(shard)
            case "csv" | "tsv":
                check_delimited(shard)
            case "parquet":
                check_parquet(shard)
            case "streamed":
                check_streamed(shard)
            case _:
                pass
    except OSError:
        return  # a file that went away is for the reading to report, as a shard that was not read
