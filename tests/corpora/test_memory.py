"""Memory is bounded by the batch, never by the file."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

LINE = "O tribunal decidiu que a servidora tinha direito à licença prevista em lei, número {}. "
SIZE = 300 << 20
BOUND = 140 << 20
"""Beyond what the program itself takes: libraries, compiled loops."""

# VmHWM and not ru_maxrss, which a child inherits from the process that started it.
READ = """
import sys
from pathlib import Path
import numpy as np
from lacre.corpora.readers import read
from lacre.corpora.sources import shards
from lacre.corpora.utf8 import is_utf8
def kilobytes(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1])
is_utf8(np.zeros(1, np.uint8))  # compiled, or loaded
size, before = 0, kilobytes("VmRSS")
for shard in shards(sys.argv[1]).shards:
    for batch in read(shard):
        size += sum(map(len, batch.text.to_pylist()))
print(size, (kilobytes("VmHWM") - before) * 1024)
"""


def blocks() -> Iterator[str]:
    for n in range(SIZE // (1 << 20)):
        yield LINE.format(n) * ((1 << 20) // len(LINE.encode()))


def jsonl_zst(path: Path) -> None:
    with zstandard.open(path, "wb") as file:
        for text in blocks():
            for start in range(0, len(text), 2000):
                file.write(json.dumps({"text": text[start : start + 2000]}).encode() + b"\n")


def txt(path: Path) -> None:
    with path.open("w") as file:
        file.writelines(blocks())


def json_list(path: Path) -> None:
    with path.open("w") as file:
        file.write("[")
        for text in blocks():
            file.write(json.dumps({"text": text}) + ",\n")
        file.write('{"text": "fim"}]')


def bomb(path: Path) -> None:
    with zstandard.open(path, "wb") as file:
        for _ in range(SIZE >> 20):
            file.write(b"a " * (1 << 19))


def one_row_group(path: Path) -> None:
    texts = [text[start : start + 2000] for text in blocks() for start in range(0, len(text), 2000)]
    pq.write_table(pa.table({"text": texts}), path, row_group_size=len(texts), use_dictionary=False)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc/self/status")
@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("corpus.jsonl.zst", jsonl_zst),
        ("corpus.txt", txt),
        ("corpus.json", json_list),
        ("bomb.txt.zst", bomb),
        ("corpus.parquet", one_row_group),
    ],
)
def test_a_large_file_is_read_in_little_memory(
    tmp_path: Path, name: str, write: Callable[[Path], None]
) -> None:
    path = tmp_path / name
    write(path)
    done = subprocess.run(
        [sys.executable, "-c", READ, str(path)], check=True, capture_output=True, text=True, timeout=300
    )
    size, peak = map(int, done.stdout.split())
    path.unlink()
    assert size > SIZE * 0.9
    assert peak < BOUND, f"{peak / 1e6:.0f} MB"
    print(f"{name}: peak {peak / 1e6:.0f} MB")
