"""Every text in a Parquet file: of each column, however nested, and of its metadata."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from lacre.release.survey_kernel import Bytes


class Cells(NamedTuple):
    """Texts of one column in a batch: its name, the first row, the cells, and their bytes with zeros between."""

    column: str
    row: int
    cells: Iterable[bytes]
    content: Bytes


def parquet_cells(file: IO[bytes], groups: tuple[int, int] | None = None) -> Iterator[Cells]:
    """The texts and bytes of a Parquet file, a batch at a time; metadata and names of columns first.

    ``groups``: first and one past the last row group; all when not given.

    Raises:
        pyarrow.ArrowException, OSError: the file is damaged.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415 - keeps `import lacre` light

    with pq.ParquetFile(file) as parquet:
        metadata = parquet.metadata.metadata or {}
        # Arrow keeps its own copy of the schema in base64, which says what the names of columns do.
        said = [part for pair in metadata.items() if pair[0] != b"ARROW:schema" for part in pair]
        schema = parquet.schema_arrow
        said += [str(schema).encode("utf-8", "replace")]
        yield Cells("metadata", 0, said, np.frombuffer(b"\0".join(said), np.uint8))
        every = range(*groups) if groups else range(parquet.num_row_groups)
        row = 0
        for batch in parquet.iter_batches(row_groups=list(every)):
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                for texts in _texts(column):
                    yield Cells(name, row, map(_bytes, texts), _joined(texts))
            row += batch.num_rows


def _texts(array: Any) -> Iterator[Any]:
    """The arrays of text or bytes inside an array."""
    import pyarrow as pa  # noqa: PLC0415 - keeps `import lacre` light

    kind = array.type
    if pa.types.is_dictionary(kind):
        yield from _texts(array.dictionary)
    elif pa.types.is_struct(kind):
        for part in array.flatten():
            yield from _texts(part)
    elif pa.types.is_map(kind):
        yield from _texts(array.keys)
        yield from _texts(array.items)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        yield from _texts(array.flatten())
    elif (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    ):
        yield array


def _joined(array: Any) -> Bytes:
    """The cells one behind another, a zero byte between two: no word goes on from one into the next."""
    import pyarrow as pa  # noqa: PLC0415 - keeps `import lacre` light
    import pyarrow.compute as pc  # noqa: PLC0415

    cells = array.cast(pa.binary()).fill_null(b"")
    joined: Any = pc.binary_join(pa.ListArray.from_arrays([0, len(cells)], cells), b"\0")
    content = joined[0].as_buffer()
    return np.frombuffer(content, np.uint8) if content is not None else np.zeros(0, np.uint8)


def _bytes(cell: Any) -> bytes:
    value = cell.as_py()
    return value.encode("utf-8", "replace") if isinstance(value, str) else value or b""
