"""Progress is of all workers, and goes back when a shard has to be read once more."""

from __future__ import annotations

from lacre.corpora.batches import Shard
from lacre.corpora.sources import Listing
from lacre.vetting.progress import PACKED, Progress, Tally, expected


def shard(size: int = 100, **more: object) -> Shard:
    values: dict[str, object] = {
        "corpus": "c", "path": "a", "location": "a", "format": "jsonl", "compression": None, "column": None,
        "row_groups": None, "size": size,
    }  # fmt: skip
    return Shard(**(values | more))  # type: ignore[arg-type]


def test_what_a_shard_may_hold() -> None:
    assert expected(shard()) == 100
    assert expected(shard(span=(20, 70))) == 50
    assert expected(shard(unpacked=700, format="parquet", row_groups=(0, 1))) == 700
    assert expected(shard(compression="gz")) == expected(shard(format="parquet")) == 100 * PACKED


def test_a_shard_that_is_read_again_counts_once() -> None:
    seen: list[Progress] = []
    parts = (shard(), shard(path="b"))
    tally = Tally([Listing(shards=parts, left_out=())], seen.append)
    tally.add(40, 1)
    tally.done(parts[0], 40)
    tally.again(parts[0], 40)
    assert (tally.now.shards, tally.now.text) == (0, 0)
    tally.add(100, 2)
    tally.done(parts[0], 100)
    tally.kept(parts[1], 100)
    assert (seen[-1].shards, seen[-1].text, seen[-1].share) == (2, 200, 1.0)
    assert all(0 <= progress.share <= 1 for progress in seen)


def test_nothing_to_read_is_all_read() -> None:
    seen: list[Progress] = []
    Tally([Listing(shards=(), left_out=())], seen.append).add(0, 0)
    assert seen[-1].share == 1.0
