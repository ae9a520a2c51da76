"""How ``lacre vet`` works: who reads the shards, and how an unfinished vetting is taken up again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import click

from lacre.cli.output import say
from lacre.errors import InputError, RecordError

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from lacre.vetting.crews import Crew
    from lacre.vetting.journal import JournalFile
    from lacre.vetting.vet import Vetting

F = TypeVar("F", bound=Callable[..., Any])

EXECUTORS = ("threads", "processes", "dask")


class Work(NamedTuple):
    """Who reads, how many of them, under which scheduler; whether an unfinished vetting is taken up."""

    executor: str | None
    workers: int | None
    scheduler: str | None
    resume: bool


def work_options(function: F) -> F:
    """The options of :class:`Work`."""
    for option in reversed(
        (
            click.option(
                "--workers",
                type=click.IntRange(1),
                help="How many read at once; one for each core when not given.",
            ),
            click.option(
                "--executor",
                type=click.Choice(EXECUTORS),
                help="Who reads: threads (when not given), processes, or the workers of a Dask cluster.",
            ),
            click.option(
                "--scheduler",
                metavar="ADDRESS",
                help="The Dask scheduler whose workers read, such as tcp://10.0.0.7:8786.",
            ),
            click.option(
                "--resume",
                is_flag=True,
                help="Go on with an unfinished vetting in --out; what it had read is not read again. Not with --vault, "
                "of which nothing is kept outside it.",
            ),
        )
    ):
        function = option(function)
    return function


def check_work(work: Work, out: Path | None, *, is_private: bool) -> None:
    """Refuse what does not go together, before anything is read.

    Raises:
        InputError: a cluster for private items; a scheduler for threads; --resume without a folder to find it in; or
            an unfinished vetting in ``out`` that would be lost.
    """
    from lacre.vetting.journal import NAME, is_begun  # noqa: PLC0415 - keeps --help fast

    cluster = work.scheduler is not None or work.executor == "dask"
    if is_private and cluster:
        raise InputError(
            "--vault",
            "private items never leave this machine, and a cluster would get them",
            "Use --executor processes",
        )
    if work.scheduler is not None and work.executor not in (None, "dask"):
        raise InputError("--scheduler", f"is for Dask, not for {work.executor}", "Say --executor dask")
    if work.scheduler is not None and work.workers is not None:
        raise InputError("--workers", "the scheduler has its own workers", "Leave one of the two out")
    if is_private:
        if work.resume:
            raise InputError(
                "--resume", "with --vault nothing is kept that could be taken up", "Vet without --resume"
            )
        return
    if work.resume and out is None:
        raise InputError("--resume", "needs the folder of a vetting", "Name it with --out")
    if out is not None and not work.resume and is_begun(out / NAME):
        raise InputError(
            out / NAME,
            "an unfinished vetting is here",
            "Go on with it by --resume, or remove the file to begin anew",
        )


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def crew(work: Work) -> Iterator[Executor | Crew]:
    """Those who read, while the block lasts."""
    workers = work.workers or cores()
    if work.scheduler is not None or work.executor == "dask":
        from lacre.vetting.cluster import Cluster  # noqa: PLC0415 - keeps --help fast

        with Cluster(work.scheduler, workers) as cluster:
            yield cluster
    elif work.executor == "processes":
        from lacre.vetting.crews import Processes  # noqa: PLC0415

        with Processes(workers) as processes:
            yield processes
    else:
        from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415

        with ThreadPoolExecutor(workers) as threads:
            yield threads


@contextmanager
def journal(out: Path | None, *, is_private: bool) -> Iterator[JournalFile | None]:
    """The journal beside the results, while the block lasts; none where there are none, or where it may not be.

    When the block ends badly, what the journal keeps is said.
    """
    from lacre.vetting.journal import NAME, JournalFile, is_begun  # noqa: PLC0415 - keeps --help fast

    if out is None or is_private:
        yield None
        return
    file = JournalFile(out / NAME)
    try:
        yield file
    except (InputError, RecordError):
        raise  # what is wrong would be wrong again
    except BaseException:
        if is_begun(file.path):
            say(f"{file.path} keeps what was read; --resume goes on from there.")
        else:
            file.path.unlink(missing_ok=True)
        raise
    finally:
        file.close()


def settle(out: Path | None, vetting: Vetting, *, is_written: bool) -> None:
    """Take the journal away when there is nothing left to go on with; say how to go on when there is."""
    from lacre.vetting.journal import NAME, is_begun  # noqa: PLC0415 - keeps --help fast

    if out is None:
        return
    if is_written and not vetting.failed:
        (out / NAME).unlink(missing_ok=True)
    elif is_begun(out / NAME):
        again = (
            f"{len(vetting.failed):,} shards that could not be reached" if vetting.failed else "the results"
        )
        but = f", but for {vetting.unkept:,} shards that found no room" if vetting.unkept else ""
        say(f"{out / NAME} keeps what was read{but}; --resume tries {again} again.")
    elif vetting.unkept:
        (out / NAME).unlink(missing_ok=True)
        say("Nothing that was read could be kept: there was no room for a journal. Make room, and vet again.")
