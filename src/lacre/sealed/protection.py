"""How a process that works on private text protects itself (SPEC X5): no core, no swap, no log, no text in an error.

What any library raises, logs or warns of may quote what it was given. So nothing of it is shown: of an exception its
type, the place in the code and a keyed digest (by which those who hold the vault can tell two of them apart); logs and
warnings are off, whatever level somebody set.
"""

from __future__ import annotations

import ctypes
import hashlib
import hmac
import logging
import os
import resource
import secrets
import sys
import threading
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

import click

from lacre.errors import IncompleteError, InputError, LacreError
from lacre.registry.sealed_runs import resume_command

T = TypeVar("T")

SWAPS = Path("/proc/swaps")
_PREFIX = b"LACRE-ERROR-v1\0"
_GET_DUMPABLE, _SET_DUMPABLE = 3, 4  # prctl(2)
_OURS = (
    LacreError,
    KeyboardInterrupt,
    BrokenPipeError,
    click.exceptions.Exit,
    click.ClickException,
    click.Abort,
)
"""What may be shown as it is: its words are our own, or it has none."""
_DIRECT = "127.0.0.1,localhost,::1"
"""Columns on this machine are reached without a proxy, which would read what goes to them unencrypted."""
_WRITE_TEXT = ("SSLKEYLOGFILE",)
"""Variables that make a library write down what should stay unreadable: here the keys of encrypted connections."""


class Shield:
    """Keeps private text in this process while its block lasts; then all is as it was, but for core files.

    An exception that is not our own ends the block; :attr:`stopped` then has what may be said of it.

    Attributes:
        key: the secret that digests are made with: the vault's, as soon as it is open.
    """

    def __init__(self) -> None:
        self.key = secrets.token_bytes(32)
        self.stopped: LacreError | None = None
        self._undo = ExitStack()

    def __enter__(self) -> Self:
        """Close what could let text out."""
        # A limit that was lowered cannot be raised again by anybody but root; nobody should want to.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with ExitStack() as undo:
            _undumpable(undo)
            _silent(undo)
            self._hooks(undo)
            for name in _WRITE_TEXT:
                _set(undo, name, None)
            for name in ("NO_PROXY", "no_proxy"):
                _set(undo, name, ",".join(filter(None, (os.environ.get(name), _DIRECT))))
            self._undo = undo.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        """Take an exception in that may quote private text."""
        self._undo.close()
        if error is None:
            return False
        if isinstance(error, _OURS):
            # What it was raised over may quote text, and a debugger would show it.
            error.__context__ = error.__cause__ = None
            return False
        self.stopped = IncompleteError(
            f"sealed work: it stopped at a {self.told(error, trace)}. Nothing more is shown, for it may quote a "
            "private item. Every reply that came is kept; go on with "
            f"`{resume_command('RUN')}`, and report the place."
        )
        return True

    def told(self, error: BaseException, trace: TracebackType | None) -> str:
        """What may be said of an exception: its type, the place in the code, a keyed digest of what it says.

        >>> shield = Shield()
        >>> shield.key = bytes(32)
        >>> shield.told(ValueError("a private word"), None)
        'ValueError (digest c3e64f4c25011f25)'
        """
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        place = ""
        if trace is not None:
            place = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
        said = _PREFIX + type(error).__name__.encode() + b"\0" + repr(error.args).encode("utf-8", "replace")
        digest = hmac.new(self.key, said, hashlib.sha256).hexdigest()[:16]
        return f"{type(error).__name__}{place} (digest {digest})"

    def _hooks(self, undo: ExitStack) -> None:
        """Have what nobody caught told in our words, in threads and in what is collected, too."""
        hook, unraisable, threads = sys.excepthook, sys.unraisablehook, threading.excepthook
        undo.callback(setattr, sys, "excepthook", hook)
        undo.callback(setattr, sys, "unraisablehook", unraisable)
        undo.callback(setattr, threading, "excepthook", threads)

        def tell(error: BaseException | None, trace: TracebackType | None) -> None:
            if error is not None:
                sys.stderr.write(f"lacre: sealed work: {self.told(error, trace)}\n")

        sys.excepthook = lambda _, error, trace: tell(error, trace)
        sys.unraisablehook = lambda said: tell(said.exc_value, said.exc_traceback)
        threading.excepthook = lambda said: tell(said.exc_value, said.exc_traceback)


def shielded(work: Callable[[Shield], T]) -> T:
    """What ``work`` returns, done behind a shield.

    Raises:
        LacreError: its own; an :class:`~lacre.errors.IncompleteError` without a word of what else it raised.

    >>> shielded(lambda shield: 1)
    1
    """
    shield = Shield()
    with shield:
        return work(shield)
    # Out here nothing hangs on it: no context, no frames with text in them.
    assert shield.stopped is not None
    raise shield.stopped


def refuse_swap(swaps: Path = SWAPS, *, allowed: bool) -> None:
    """Refuse to work while memory may be written to disk, unless that is allowed.

    Raises:
        InputError: swap is on, or it cannot be told whether it is.
    """
    if allowed:
        return
    try:
        lines = swaps.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        raise InputError(
            swaps, "does not tell whether swap is on", "Turn swap off, then say --allow-swap"
        ) from None
    if len(lines) > 1:
        raise InputError(
            "swap",
            f"is on ({lines[1].split()[0]}), so that private items may be written to disk",
            "Turn it off with `swapoff -a`, or say --allow-swap where it is encrypted",
        )


def _set(undo: ExitStack, name: str, value: str | None) -> None:
    """Set a variable of the environment, or take it out."""
    before = os.environ.pop(name, None)
    if before is None:
        undo.callback(os.environ.pop, name, None)
    else:
        undo.callback(os.environ.__setitem__, name, before)
    if value is not None:
        os.environ[name] = value


def _undumpable(undo: ExitStack) -> None:
    """Let no other process of this user look into the memory, nor the system write it out, where it can be had."""
    if not sys.platform.startswith("linux"):
        return
    system = ctypes.CDLL(None, use_errno=True)
    undo.callback(system.prctl, _SET_DUMPABLE, system.prctl(_GET_DUMPABLE, 0, 0, 0, 0), 0, 0, 0)
    system.prctl(_SET_DUMPABLE, 0, 0, 0, 0)


def _silent(undo: ExitStack) -> None:
    """Turn logs and warnings off, and write no compiled code."""
    undo.callback(logging.disable, logging.root.manager.disable)
    logging.disable(sys.maxsize)
    undo.callback(setattr, logging, "lastResort", logging.lastResort)
    logging.lastResort = None
    undo.enter_context(warnings.catch_warnings())
    warnings.simplefilter("ignore")
    undo.callback(setattr, sys, "dont_write_bytecode", sys.dont_write_bytecode)
    sys.dont_write_bytecode = True
