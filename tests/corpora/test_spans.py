"""Large files of lines are cut into ranges of bytes: wherever the cuts fall, every line is read once."""

from __future__ import annotations

import json
from io import BytesIO
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.corpora.writing import reading
from tests.vetting.making import FILLER, LAW, STEM, choice, vet

from lacre.corpora.readers import read
from lacre.corpora.sources import shards
from lacre.corpora.spans import SpanBytes


@given(
    content=st.lists(st.binary(max_size=9).map(lambda line: line.replace(b"\r", b"")), max_size=12).map(
        b"\n".join
    ),
    cuts=st.lists(st.integers(0, 130), max_size=6),
    size=st.integers(1, 40),
)
def test_the_spans_that_cover_a_file_give_its_bytes_each_once(
    content: bytes, cuts: list[int], size: int
) -> None:
    bounds = sorted({0, len(content), *(cut for cut in cuts if cut < len(content))})
    parts: list[bytes] = []
    for span in pairwise(bounds):
        stream = SpanBytes(BytesIO(content), span)
        part = b""
        while block := stream.read(size):
            part += block
        stream.close()
        assert stream.damage is None
        # A span begins where a line does.
        start = len(b"".join(parts))
        assert not part or start == 0 or content[start - 1 : start] == b"\n"
        parts.append(part)
    assert b"".join(parts) == content


def lines(path: Path, *, named: bool, odd: bool) -> None:
    with path.open("w") as file:
        for n in range(900):
            row = {"text": f"{n} {FILLER}{STEM if n % 300 == 7 else LAW}"} | (
                {"id": f"d{n}"} if named else {}
            )
            file.write(json.dumps(row) + "\n" + ("{bad\n" if odd and n % 100 == 50 else ""))


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_a_cut_file_is_read_as_a_whole_one_is(tmp_path: Path, named: bool, odd: bool) -> None:
    path = tmp_path / "a.jsonl"
    lines(path, named=named, odd=odd)
    (whole,) = shards(str(path)).shards
    cut = shards(str(path), shard_bytes=50_000).shards
    assert len(cut) > 3
    assert {shard.path for shard in cut} == {"a.jsonl"}
    texts = [text for shard in cut for batch in read(shard) for text in batch.text.to_pylist()]
    assert texts == [text for batch in read(whole) for text in batch.text.to_pylist()]
    documents = [name for shard in cut for batch in read(shard) for name in batch.documents]
    if named:
        assert documents == [f"d{n}" for n in range(900)]
    else:
        # Lines of the first range have their numbers; of the others, their numbers from a byte on.
        assert documents[0] == "1"
        assert len(set(documents)) == 900
        start = documents[-1].partition("+")[0]
        assert int(start) == cut[-1].span[0] if cut[-1].span else False
    gaps = [gap for shard in cut for batch in read(shard) for gap in batch.unread]
    assert len(gaps) == (9 if odd else 0)


def test_documents_of_a_cut_file_are_counted_once_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    lines(path, named=False, odd=False)
    whole = vet([choice()], str(path))
    from lacre.corpora import sources  # noqa: PLC0415

    cut = sources.shards(str(path), shard_bytes=50_000)
    monkeypatch.setattr("lacre.vetting.scan.shards", lambda _source, **_: cut)
    parted = vet([choice()], str(path))
    assert [v.verdict for v in parted.verdicts] == [v.verdict for v in whole.verdicts] == ["drop"]
    assert parted.findings[0].documents == whole.findings[0].documents == 3
    assert parted.corpora[0].documents == whole.corpora[0].documents


def test_the_head_of_a_file_says_how_all_its_ranges_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    # Past the head, another column would be taken for the text.
    rows = [{"corpo": "um", "nota": "n"}] * 2000 + [{"nota": "só nota", "corpo": None}] * 2000
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    cut = shards(str(path), column="corpo", shard_bytes=20_000).shards
    nulls = sum(batch.nulls for shard in cut for batch in read(shard))
    assert nulls == 2000
    assert reading(path, column="corpo").nulls == 2000
