"""What runs on the workers of a Dask cluster. Imported only where ``distributed`` is installed."""

from __future__ import annotations

from typing import cast

from distributed import WorkerPlugin, get_worker

import lacre
from lacre.corpora.batches import Shard
from lacre.overlap.index import ItemIndex
from lacre.vetting.crews import answer


class Holder(WorkerPlugin):
    """The items' index, as every worker holds it while a vetting lasts; a worker that comes later gets it too."""

    def __init__(self, index: ItemIndex, align_from: float) -> None:
        self.index = index
        self.align_from = align_from


def version() -> str:
    """The version of lacre, asked on a worker."""
    return lacre.__version__


def work(name: str, shard: Shard) -> bytes:
    """The answer for a shard, past the index that this worker holds under ``name``."""
    held = cast("Holder", get_worker().plugins[name])
    return answer(held.index, shard, held.align_from, lambda: False)
