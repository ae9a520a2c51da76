"""An interrupt that reaches the main thread, as Ctrl-C does, from any thread of a test."""

from __future__ import annotations

import signal
import threading


def interrupt() -> None:
    """Send SIGINT to the main thread.

    ``signal.raise_signal`` sends it to the thread that calls: a main thread that waits for the network sleeps on.
    """
    main = threading.main_thread().ident
    assert main is not None
    signal.pthread_kill(main, signal.SIGINT)
