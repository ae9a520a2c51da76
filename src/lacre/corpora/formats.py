"""What the ending of a name says: how a file is compressed, and how its text is laid out."""

from __future__ import annotations

import msgspec

COMPRESSIONS = {"gz": "gz", "gzip": "gz", "zst": "zst", "zstd": "zst", "bz2": "bz2", "xz": "xz"}

TABLES = {
    "jsonl": "jsonl",
    "ndjson": "jsonl",
    "jsonlines": "jsonl",
    "json": "json",
    "geojson": "json",
    "ipynb": "json",
    "csv": "csv",
    "tsv": "tsv",
    "tab": "tsv",
    "parquet": "parquet",
    "pq": "parquet",
    "html": "html",
    "htm": "html",
    "xhtml": "html",
    "xml": "xml",
}


def _endings(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


PROSE = _endings("txt text md markdown mdx rst tex srt vtt adoc org log bib conllu")

SOURCE_CODE = _endings(
    "py pyi js mjs cjs ts tsx jsx vue java kt scala groovy c cc cpp cxx h hh hpp cs go rs rb php pl pm lua"
    " swift m mm r jl f90 f95 pas hs ml ex exs erl clj lisp el dart sh bash zsh ps1 bat sql css scss less"
    " toml yaml yml ini cfg conf proto graphql tf cmake make mk dockerfile gradle properties diff patch asm s"
)

TEXTLESS = _endings(
    "png jpg jpeg gif bmp webp tif tiff ico heic avif psd svg mp3 wav ogg flac m4a aac opus mid mp4 mkv avi"
    " mov webm mpg mpeg ttf otf woff woff2 eot npy npz pt pth safetensors bin so o a dll exe pyc class"
)

FOREIGN = _endings(
    "pdf doc docx odt rtf ppt pptx odp xls xlsx ods epub mobi djvu ps zip tar tgz tbz2 txz 7z rar lz4 br jar"
    " whl arrow feather orc avro sqlite db warc wet wat pkl pickle svgz"
)
"""Formats that hold text which lacre does not take out of them."""


class Kind(msgspec.Struct, frozen=True):
    """How to read a file: its format, or why it has none, and its compression.

    Attributes:
        format: a format of :class:`lacre.corpora.batches.Shard`; ``textless``; ``foreign``; ``unknown``.
        compression: ``gz``, ``zst``, ``bz2``, ``xz`` or none.
    """

    format: str
    compression: str | None


def kind(name: str) -> Kind:
    """How a file of this name is read, by its ending.

    >>> kind("part-001.jsonl.zst")
    Kind(format='jsonl', compression='zst')
    >>> kind("Makefile").format
    'unknown'
    >>> kind("edital.pdf").format
    'foreign'
    """
    stem, _, ending = name.lower().rpartition(".")
    compression = COMPRESSIONS.get(ending) if stem else None
    if compression:
        stem, _, ending = stem.rpartition(".")
    if not stem:
        return Kind("unknown", compression)
    return Kind(_layout(ending, compression), compression)


def _layout(ending: str, compression: str | None) -> str:
    if ending in TABLES:
        # Parquet is read by seeking: a compressed one would have to be unpacked whole.
        return "foreign" if compression and TABLES[ending] == "parquet" else TABLES[ending]
    if ending in PROSE or ending in SOURCE_CODE:
        return "txt"
    if ending in TEXTLESS:
        return "textless"
    return "foreign" if ending in FOREIGN else "unknown"
