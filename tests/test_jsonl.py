"""Files are whole or absent, and every bad line is told."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacre import jsonl
from lacre.errors import InputError, RecordError


class Part(msgspec.Struct):
    kind: Literal["a", "b"]


class Row(msgspec.Struct):
    id: str
    layer: Literal["open", "private"] | None = None
    parts: tuple[Part, ...] = ()


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_what_is_written_is_read_back_in_nfc(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    path = tmp_path_factory.mktemp("rows") / "rows.jsonl"
    jsonl.write(path, [Row(id=text) for text in texts])
    content = path.read_bytes()
    assert unicodedata.is_normalized("NFC", content.decode())
    assert content.count(b"\n") == len(texts)
    assert [row.id for row in jsonl.read(path, Row)] == [unicodedata.normalize("NFC", text) for text in texts]


@pytest.mark.parametrize(
    ("content", "ids"),
    [
        (b"", []),
        (b"\n \n\r\n", []),
        (b'\xef\xbb\xbf{"id":"a"}\r\n{"id":"b"}', ["a", "b"]),
        ('{"id":"a\u2028b"}\n'.encode(), ["a\u2028b"]),
    ],
    ids=["empty", "blank lines", "byte order mark, CRLF, no last line feed", "line separator inside a text"],
)
def test_lines_are_ended_by_lf_only(content: bytes, ids: list[str], tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(content)
    assert [row.id for row in jsonl.read(path, Row)] == ids


def test_every_bad_line_is_told_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(
        b'{"id":"a"}\n{"id":\n\n{"id":1}\n{"id":"\xe9"}\n{"id":"b","layer":"seled"}\n{"id":"c"}\n'
    )
    lines = jsonl.read_lines(path, Row)
    assert [(number, row.id) for number, row in lines.records] == [(1, "a"), (7, "c")]
    with pytest.raises(RecordError) as caught:
        jsonl.read(path, Row)
    assert [fault.line for fault in caught.value.faults] == [2, 4, 5, 6]
    assert "layer 'seled' is not open or private" in str(caught.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b'{"id":"a","layer":"x"}', "layer 'x' is not open or private"),
        (b'{"id":"a","parts":[{"kind":"c"}]}', "parts[0].kind 'c' is not a or b"),
        (b'{"id":1}', "Expected `str`, got `int` - at `$.id`"),
    ],
)
def test_a_fault_names_the_choice(line: bytes, said: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.json.decode(line, type=Row)
    assert jsonl.explained(caught.value, Row) == said


def test_a_file_that_is_not_there_or_is_a_folder_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        jsonl.read(tmp_path / "none.jsonl", Row)
    with pytest.raises(InputError, match="is a folder"):
        jsonl.read(tmp_path, Row)
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match="cannot be read"):
        jsonl.read(tmp_path / "file" / "below", Row)


def interrupted_write(path: Path) -> None:
    with jsonl.replacing(path) as file:
        file.write(b"new")
        raise KeyboardInterrupt


def test_an_exception_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt):
        interrupted_write(path)
    assert [(found.name, found.read_bytes()) for found in tmp_path.iterdir()] == [("rows.jsonl", b"old")]
    jsonl.write_bytes(path, b"new")
    assert path.read_bytes() == b"new"


def test_a_killed_writer_leaves_the_old_file_whole(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"old")
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from lacre.jsonl import replacing\n"
        "with replacing(Path(sys.argv[1])) as file:\n"
        "    file.write(b'half of the new')\n"
        "    file.flush()\n"
        "    print('written', flush=True)\n"
        "    time.sleep(60)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert path.read_bytes() == b"old"
