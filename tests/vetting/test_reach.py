"""The reach of the search hangs on no batch and no thread, and rules may not ask for more."""

from __future__ import annotations

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.overlap.building import filler, index_of, item, made_up, matched, overlaps

from lacre.corpora.batches import BATCH_BYTES, OVERLAP
from lacre.corpora.pieces import SMALLEST_BATCH
from lacre.corpora.readers import read
from lacre.corpora.sources import shards
from lacre.errors import InputError
from lacre.overlap.index import ItemIndex
from lacre.overlap.runs import Scratch, runs
from lacre.registry.items import Candidate, Payload
from lacre.registry.rules import default_rules
from lacre.vetting.evidence import Gathering
from lacre.vetting.vet import vet

Match = tuple[int, bool, str, int, int, int, int]


def gathered(index: ItemIndex, source: Path, batch_bytes: int) -> set[Match]:
    """Everything found in a file that is read in batches of that size."""
    matches: set[Match] = set()
    for shard in shards(str(source)).shards:
        gathering = Gathering(shard, index.sheets)
        scratch = Scratch.make()
        for batch in read(shard, batch_bytes=batch_bytes):
            gathering.add(batch, runs(index, batch.text, scratch, align_from=0.75).runs)
        for places in gathering.found().places.values():
            matches |= {
                (p.item, p.sentence, p.document, p.start, p.end, p.first, p.last)
                for document in places.values()
                for p in document
            }
    return matches


@given(seed=st.integers(0, 2**32), batch_bytes=st.integers(SMALLEST_BATCH, 4 * SMALLEST_BATCH))
@settings(max_examples=25, deadline=None)
def test_the_size_of_batches_does_not_show(
    tmp_path_factory: pytest.TempPathFactory, seed: int, batch_bytes: int
) -> None:
    chance = random.Random(seed)
    texts = [" ".join(made_up(chance, chance.randint(13, 60))) for _ in range(4)]
    index = index_of(*(item(text, name=f"i{k}") for k, text in enumerate(texts)))
    # Each item stands once in a document of several batches, somewhere.
    parts = [" ".join(filler(chance, 2_000) for _ in range(8)) for _ in texts]
    document = "".join(f"{part} {text} " for part, text in zip(parts, texts, strict=True)) + filler(chance)
    source = tmp_path_factory.mktemp("corpus") / "long.txt"
    source.write_text(document, encoding="utf-8")
    whole = gathered(index, source, BATCH_BYTES)
    assert gathered(index, source, batch_bytes) == whole
    content = document.encode()
    runs_found = [content[start:end].decode() for _, sentence, _, start, end, *_ in whole if not sentence]
    assert sorted(runs_found) == sorted(texts)


@pytest.mark.parametrize("shift", [*range(-40, 41, 8)])
def test_a_run_at_the_seam_of_two_pieces_is_found_whole(tmp_path: Path, shift: int) -> None:
    text = " ".join(made_up(random.Random(1), 60))
    index = index_of(item(text))
    for seam in (SMALLEST_BATCH, SMALLEST_BATCH - OVERLAP, 2 * (SMALLEST_BATCH - OVERLAP)):
        at = seam + shift * 5
        document = ("kwonk " * (at // 6 + 1))[:at] + " " + text + " kwonk" * 4_000
        source = tmp_path / f"{seam}.txt"
        source.write_text(document, encoding="utf-8")
        assert gathered(index, source, SMALLEST_BATCH) == gathered(index, source, BATCH_BYTES)


def test_a_document_of_five_megabytes_without_a_blank_is_read(tmp_path: Path) -> None:
    source = tmp_path / "one.txt"
    text = " ".join(made_up(random.Random(2), 20))
    source.write_text("x" * 5_000_000 + f" {text} " + "y" * 200_000, encoding="utf-8")
    found = {match[5:] for match in gathered(index_of(item(text)), source, BATCH_BYTES) if not match[1]}
    assert found == {(0, 20)}


def test_one_scratch_serves_batches_of_any_size_and_any_index() -> None:
    # Memory left by a large batch must not show in a small one.
    import pyarrow as pa  # noqa: PLC0415

    scratch = Scratch.make()
    texts = [" ".join(made_up(random.Random(k), 20)) for k in range(3)]
    indices = [index_of(item(text)) for text in texts]
    for documents in ([f"{texts[0]} kwonk " * 3_000], [texts[1]], ["", texts[2], texts[0]], ["kwonk"]):
        for index in indices:
            array = pa.array(documents, pa.large_string())
            again = runs(index, array, scratch, align_from=0.75).runs
            assert again == runs(index, array, Scratch.make(), align_from=0.75).runs


def test_threads_that_share_an_index_find_the_same() -> None:
    import pyarrow as pa  # noqa: PLC0415

    texts = [" ".join(made_up(random.Random(k), 20)) for k in range(40)]
    index = index_of(*(item(text, name=f"i{k}") for k, text in enumerate(texts)))
    array = pa.array([f"kwonk {text} kwonk" for text in texts] * 20, pa.large_string())
    alone = runs(index, array, Scratch.make(), align_from=0.75)
    local = threading.local()

    def once(_: int) -> bool:
        if not hasattr(local, "scratch"):
            local.scratch = Scratch.make()
        return runs(index, array, local.scratch, align_from=0.75) == alone

    with ThreadPoolExecutor(4) as executor:
        assert all(executor.map(once, range(16)))


@pytest.mark.parametrize("name", ["short_min_words", "rare_min_words"])
@pytest.mark.parametrize("least", [1, 4])
def test_rules_may_not_ask_for_fewer_words_than_a_seed_has(tmp_path: Path, name: str, least: int) -> None:
    (tmp_path / "corpus.txt").write_text("Um texto.", encoding="utf-8")
    rules = msgspec.structs.replace(default_rules().vetting, **{name: least})
    items = [Candidate(id="q", payload=Payload(kind="open", stem="Quem foi Zumbi?"))]
    with ThreadPoolExecutor(1) as executor, pytest.raises(InputError, match=f"{name} is {least}"):
        vet(items, [str(tmp_path / "corpus.txt")], rules, executor=executor)


def test_an_arrow_slice_is_searched_alone() -> None:
    import pyarrow as pa  # noqa: PLC0415

    text = " ".join(made_up(random.Random(3), 20))
    index = index_of(item(text))
    array = pa.array(["kwonk", text, f"é {text}", text], pa.large_string()).slice(1, 2)
    found = [r for r in runs(index, array, Scratch.make(), align_from=0.75).runs if not r.sentence]
    assert [(r.document, r.start) for r in found] == [(0, 0), (1, 3)]
    assert matched(f"é {text}", found[1]) == text
    assert overlaps(index, "kwonk") == []
