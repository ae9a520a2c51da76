"""Workers of a Dask cluster as readers of shards: on this machine, or wherever a scheduler has them.

The items' index goes to every worker once, as a plugin of the cluster: a worker that comes later, or in the place of
one that died, gets it too, and no task waits for a copy that died with its holder.
"""

from __future__ import annotations

import logging
from concurrent.futures import CancelledError, Executor, Future
from importlib import import_module
from typing import Any
from uuid import uuid4

import lacre
from lacre.corpora.batches import Shard
from lacre.errors import ColumnError, InputError
from lacre.overlap.index import ItemIndex
from lacre.vetting.crews import opened_answer
from lacre.vetting.progress import Tally
from lacre.vetting.shards import ShardResult, unreached

REACH_SECONDS = 20.0
"""How long a scheduler may take to answer."""


class Cluster:
    """The workers of a scheduler, or of one started here for the purpose. Use as a context.

    Args:
        scheduler: its address, such as ``tcp://10.0.0.7:8786``; none to start one on this machine.
        workers: how many to start on this machine.
        reach: seconds within which the scheduler must answer.

    Raises:
        InputError: the extra ``cluster`` is not installed.
        ColumnError: the scheduler does not answer.
    """

    def __init__(self, scheduler: str | None, workers: int, reach: float = REACH_SECONDS) -> None:
        try:
            distributed: Any = import_module("distributed")  # an extra, and heavy; without types
        except ImportError:
            raise InputError(
                "--executor dask", "distributed is not installed", "Run `pip install 'lacre[cluster]'`"
            ) from None
        # What becomes of workers is told in our own words; the scheduler keeps its own log.
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        self._local: Any = None
        if scheduler is None:
            self._local = distributed.LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                host="127.0.0.1",
                protocol="tcp",
                dashboard_address="127.0.0.1:0",
                worker_dashboard_address=None,
                memory_limit=0,  # so that nothing is written to its disk
                silence_logs=logging.CRITICAL,
            )
        try:
            self._client: Any = distributed.Client(self._local or scheduler, timeout=reach)
        except (OSError, ValueError) as error:
            why = f"{scheduler}: no scheduler answers there ({type(error).__name__})"
            raise ColumnError(f"{why}. Check the address, and that it runs.") from None
        self._where = scheduler or "cluster"
        self._name = f"lacre-{uuid4().hex}"
        self._executor: Executor = self._client.get_executor(pure=False)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()
        if self._local is not None:
            self._local.close()

    def workers(self) -> list[str]:
        """The addresses of the workers there are."""
        return list(self._client.scheduler_info(n_workers=-1)["workers"])

    def begin(self, index: ItemIndex, align_from: float, tally: Tally) -> None:
        """Send the index to every worker.

        Raises:
            ColumnError: there is no worker.
            InputError: a worker has another version of lacre, or none.
        """
        from lacre.vetting.cluster_worker import Holder, version  # noqa: PLC0415 - needs distributed

        self._tally = tally
        found = self._client.run(version, on_error="return")
        if not found:
            raise ColumnError(f"{self._where}: has no workers. Start some, and run again.")
        others = sorted({str(answer) for answer in found.values()} - {lacre.__version__})
        if others:
            raise InputError(
                self._where,
                f"workers have lacre {', '.join(others)}, not {lacre.__version__}",
                "Install the same version everywhere",
            )
        self._client.register_plugin(Holder(index, align_from), name=self._name)

    def submit(self, shard: Shard) -> Future[ShardResult]:
        """The result of a shard. When its worker dies another reads it, a few times."""
        from lacre.vetting.cluster_worker import work  # noqa: PLC0415 - needs distributed

        outcome: Future[ShardResult] = Future()
        task = self._executor.submit(work, self._name, shard)
        task.add_done_callback(lambda done: self._settle(done, shard, outcome))
        return outcome

    def _settle(self, task: Future[bytes], shard: Shard, outcome: Future[ShardResult]) -> None:
        """Pass on what became of a task."""
        from distributed import KilledWorker  # noqa: PLC0415 - an extra, and heavy

        if not outcome.set_running_or_notify_cancel():
            return
        try:
            result = opened_answer(task.result(), shard, self._tally)
        except KilledWorker:
            outcome.set_result(unreached(shard, "workers in a row died over it"))
        except CancelledError:
            why = f"{self._where}: the cluster lost the work"
            outcome.set_exception(ColumnError(f"{why}. Start it again, and go on with --resume."))
        except BaseException as error:  # noqa: BLE001 - raised again where the outcome is asked for
            outcome.set_exception(error)
        else:
            outcome.set_result(result)

    def abandon(self) -> None:
        """Take back what was not begun."""
        self._executor.shutdown(wait=False)
