"""One peer on the texts, run by that peer's own Python: needs nothing but the standard library and the peer.

Prints a JSON line: bytes of text gone through and processor seconds. Making the peer's index is not counted, nor
is reading the texts where the peer has no reader of its own: both favour the peer. A peer that is slow stops after
SECONDS of processor time, with what it has done until then.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

N = 13


def texts(folder: Path) -> Iterator[str]:
    """The documents, one a line of JSON."""
    with (folder / "text.jsonl").open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)["text"]


def items(folder: Path) -> list[str]:
    """The texts of the items."""
    with (folder / "items.jsonl").open(encoding="utf-8") as file:
        return [json.loads(line)["text"] for line in file]


def each(folder: Path, seconds: float, work: Callable[[str], object]) -> dict[str, float]:
    """Work on the documents one after another, as many as fit in the time."""
    read = list(texts(folder))
    done = 0
    begun = time.process_time()
    for text in read:
        work(text)
        done += len(text.encode())
        if time.process_time() - begun > seconds:
            break
    return {"bytes": done, "seconds": time.process_time() - begun}


def overall(folder: Path, work: Callable[[], object]) -> dict[str, float]:
    """Work on all of them at once; processor time of this process and its children."""
    before = sum(os.times()[:4])
    work()
    return {
        "bytes": sum(len(text.encode()) for text in texts(folder)),
        "seconds": sum(os.times()[:4]) - before,
    }


def datatrove(folder: Path, seconds: float) -> dict[str, float]:
    """Datatrove's filter by n-grams, with its tokenizer for Portuguese."""
    import numpy as np  # type: ignore[import-not-found, unused-ignore]
    from datatrove.data import Document  # type: ignore[import-not-found]
    from datatrove.pipeline.decont.n_grams import NGramsDecontConfig, NGramsDecontFilter  # type: ignore[import-not-found]
    from datatrove.utils.text import ngrams, simplify_text  # type: ignore[import-not-found]

    config = NGramsDecontConfig(n_grams=N)
    index = folder / "datatrove"
    index.mkdir(exist_ok=True)
    peer = NGramsDecontFilter(str(index), config=config, language="por_Latn")
    hashes: set[int] = set()
    for item in items(folder):
        words = peer.tokenizer.word_tokenize(simplify_text(item, config.norm_config))
        hashes.update(peer.hash_func(" ".join(gram)) for gram in ngrams(words, N))
    np.array(sorted(hashes), dtype=config.hash_config.np_descr).tofile(index / "items.index.hashes")
    peer.load_index_hashes()
    return each(folder, seconds, lambda text: peer.filter(Document(text=text, id="")))


def overlapy(folder: Path, seconds: float) -> dict[str, float]:
    """Overlapy's matcher; words as its readme cuts them, at blanks."""
    import overlapy as peer  # type: ignore[import-not-found]

    words = [item.split() for item in items(folder)]
    tests = peer.OverlapyTestSet("items", min_n=N, max_n=N, examples=words)
    matcher = peer.OverlapyNgramMatcher(set(map(tuple, tests.ngrams())))
    return each(folder, seconds, lambda text: matcher([text.split()]))


def janitor(folder: Path, seconds: float) -> dict[str, float]:
    """The janitor of lm-eval, in Python: its C++ part is not in the package."""
    from lm_eval.decontamination.janitor import Janitor  # type: ignore[import-not-found]

    peer = Janitor(ngram_n=N)
    for item in items(folder):
        peer.register_contaminant_python(item)
    return each(folder, seconds, peer.clean_python)


def dolma(folder: Path, _: float) -> dict[str, float]:
    """Dolma's deduper: a Bloom filter of the items' n-grams, then the documents' paragraphs against it."""
    import subprocess

    def dedupe(documents: str, *, is_read_only: bool) -> None:
        subprocess.run(
            [
                str(Path(sys.executable).parent / "dolma"), "dedupe", "--documents", documents,
                "--dedupe.name", "items", "--dedupe.paragraphs.attribute_name", "items",
                "--dedupe.paragraphs.by_ngram.ngram_length", str(N), "--dedupe.paragraphs.by_ngram.stride", "1",
                "--dedupe.paragraphs.by_ngram.overlap_threshold", "0.1", "--dedupe.skip_empty",
                "--bloom_filter.file", str(folder / "dolma.bloom"),
                "--bloom_filter.estimated_doc_count", "1000000",
                "--bloom_filter.desired_false_positive_rate", "0.001",
                "--bloom_filter.read_only" if is_read_only else "--no-bloom_filter.read_only", "--processes", "1",
            ],
            check=True, capture_output=True,
        )  # fmt: skip

    dedupe(str(folder / "items" / "documents" / "*.jsonl.gz"), is_read_only=False)
    return overall(
        folder, lambda: dedupe(str(folder / "corpus" / "documents" / "*.jsonl.gz"), is_read_only=True)
    )


def decontaminate(folder: Path, _: float) -> dict[str, float]:
    """decon by its bindings, one thread."""
    import decon  # type: ignore[import-not-found]

    config = decon.Config(
        str(folder / "corpus" / "plain"),
        str(folder / "evals"),
        str(folder / "decon"),
        worker_threads=1,
    )
    return overall(folder, lambda: decon.detect(config))


if __name__ == "__main__":
    peer, where, limit = sys.argv[1:]
    print(json.dumps(globals()[peer](Path(where), float(limit))))
