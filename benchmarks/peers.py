"""Other programs that look for items in text, on the same texts in the same run: one JSON line.

Each is installed from the package index into an environment of its own under ``benchmarks/.peers``, once. What will
not install, or does not run, is left out with a word. Rates are MB of UTF-8 text per processor second.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from benchmarks import material

FOLDER = Path(__file__).parent / ".peers"


class Peer(NamedTuple):
    """A peer: its name here, the packages it needs, and the Python it wants."""

    name: str
    packages: tuple[str, ...]
    python: str = ""


PEERS = (
    # datatrove's tokenizer for Portuguese is spaCy's; it hashes strings, which xxhash 4 refuses.
    Peer("datatrove", ("datatrove", "regex", "spacy", "xxhash<4")),
    Peer("overlapy", ("overlapy",)),
    Peer("janitor", ("lm-eval",)),
    # Left to itself pip tries every boto3 there is, for an hour: dolma wants an old aiobotocore, and that this one.
    Peer("dolma", ("dolma", "boto3==1.28.17")),
    Peer("decontaminate", ("decontaminate",), "python3.12"),
)


def installed(peer: Peer) -> Path | str:
    """The Python of a peer's environment, made when it is missing; or why there is none."""
    home = FOLDER / peer.packages[0]
    python = home / "bin" / "python"
    if (home / "ready").exists():
        return python
    base = shutil.which(peer.python) if peer.python else sys.executable
    if base is None:
        return f"needs {peer.python}, which is not here"
    try:
        subprocess.run([base, "-m", "venv", "--clear", str(home)], check=True, capture_output=True)
        subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", "--no-compile", *peer.packages],
            check=True,
            capture_output=True,
            timeout=1800,
        )
    except subprocess.CalledProcessError as error:
        return f"does not install: {_last(error.stderr)}"
    except subprocess.TimeoutExpired:
        return "does not install in half an hour"
    (home / "ready").touch()
    return python


def _last(output: bytes) -> str:
    lines = [line.strip() for line in output.decode(errors="replace").splitlines() if line.strip()]
    return lines[-1][:200] if lines else "no word"


def lay_out(folder: Path, size: int, kinds: tuple[str, ...], count: int) -> None:
    """The texts and the items as each peer takes them."""
    documents = list(material.repeated(material.texts(kinds), size))
    rows = [{"id": f"d{n}", "text": text, "source": "bench"} for n, text in enumerate(documents)]
    tests = []
    for item in material.items(count):
        whole = [item.payload.stem, *(item.payload.options or {}).values()]
        tests.append({"id": item.id, "text": "\n".join(filter(None, whole)), "source": "bench"})
    _write(folder / "text.jsonl", rows)
    _write(folder / "items.jsonl", tests)
    _write(folder / "corpus" / "plain" / "text.jsonl", rows)
    for name, part in (("corpus", rows), ("items", tests)):
        place = folder / name / "documents" / "text.jsonl.gz"
        place.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(place, "wt", compresslevel=3, encoding="utf-8") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in part)
    evals = [
        {
            "eval_key": "items", "eval_instance_index": n, "split": "test", "doc_id": n, "fingerprint": str(n),
            "question": row["text"], "answer": "", "is_correct": True,
        }
        for n, row in enumerate(tests)
    ]  # fmt: skip
    _write(folder / "evals" / "items.jsonl", evals)


def _write(path: Path, rows: list[dict[str, object]] | list[dict[str, str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def rates(size: float, kinds: tuple[str, ...], count: int, seconds: float) -> dict[str, float | str]:
    """MB of text per processor second of every peer, or why there is no figure."""
    found: dict[str, float | str] = {}
    with tempfile.TemporaryDirectory() as name:
        lay_out(Path(name), int(size * 1e6), kinds, count)
        for peer in PEERS:
            python = installed(peer)
            if isinstance(python, str):
                found[peer.name] = python
                continue
            found[peer.name] = _rate(peer, python, Path(name), seconds)
    return found


def _rate(peer: Peer, python: Path, folder: Path, seconds: float) -> float | str:
    run = [str(python), "-W", "ignore", str(Path(__file__).with_name("peers_run.py")), peer.name, str(folder)]
    try:
        ended = subprocess.run(
            [*run, str(seconds)], capture_output=True, check=True, timeout=60 + 20 * seconds, cwd=folder
        )
    except subprocess.CalledProcessError as error:
        return f"does not run: {_last(error.stderr)}"
    except subprocess.TimeoutExpired:
        return "did not end in time"
    result = json.loads(ended.stdout.splitlines()[-1])
    return round(float(result["bytes"]) / 1e6 / float(result["seconds"]), 3)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=float, default=60, help="MB of text")
    parser.add_argument("--kinds", default="clean,law,contaminated", help="folders of the test corpora")
    parser.add_argument("--items", type=int, default=2_000)
    parser.add_argument(
        "--seconds", type=float, default=60, help="processor seconds after which a peer is stopped"
    )
    arguments = parser.parse_args()
    kinds = tuple(arguments.kinds.split(","))
    print(json.dumps(rates(arguments.size, kinds, arguments.items, arguments.seconds)))


if __name__ == "__main__":
    main()
