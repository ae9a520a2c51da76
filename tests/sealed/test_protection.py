"""A process that works on private text says nothing of it, whatever is raised, logged or warned of (SPEC X5)."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

from lacre.errors import IncompleteError, InputError
from lacre.sealed.protection import Shield, refuse_swap, shielded

SECRET = "a jabuticabeira assombrada"


def test_an_exception_becomes_its_type_its_place_and_a_keyed_digest() -> None:
    def work(shield: Shield) -> None:
        shield.key = bytes(32)
        raise ValueError(SECRET)

    with pytest.raises(IncompleteError) as raised:
        shielded(work)
    said = str(raised.value)
    assert "stopped at a ValueError at test_protection.py:" in said
    assert "go on with `lacre run resume RUN --vault DIR --identity FILE --key FILE`" in said
    assert SECRET not in said
    # Nothing hangs on it that a debugger or a log could show.
    assert raised.value.__context__ is None
    assert raised.value.__cause__ is None


def test_the_digest_tells_two_errors_apart_and_depends_on_the_key() -> None:
    shield, other = Shield(), Shield()
    one, two = ValueError(SECRET), ValueError(SECRET + "!")
    assert shield.told(one, None) == shield.told(ValueError(SECRET), None)
    assert len({shield.told(one, None), shield.told(two, None), other.told(one, None)}) == 3


def test_our_own_errors_pass_without_what_they_were_raised_over() -> None:
    def work(_: Shield) -> None:
        try:
            int(SECRET)
        except ValueError:
            raise InputError("a.csv", "is empty") from None

    with pytest.raises(InputError) as raised:
        shielded(work)
    assert raised.value.__context__ is None


@pytest.mark.parametrize("kind", [KeyboardInterrupt, BrokenPipeError])
def test_an_interrupt_passes(kind: type[BaseException]) -> None:
    def work(_: Shield) -> None:
        raise kind

    with pytest.raises(kind):
        shielded(work)


def test_logs_and_warnings_are_off_inside_and_on_again_after(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    def work(_: Shield) -> int:
        logging.getLogger("httpx2").critical(SECRET)
        warnings.warn(SECRET, stacklevel=1)
        return 7

    caplog.set_level(1)
    assert shielded(work) == 7
    assert SECRET not in caplog.text
    logging.getLogger("httpx2").critical("after")
    assert "after" in caplog.text
    assert SECRET not in capsys.readouterr().err


def test_what_a_thread_or_the_collector_meets_is_told_in_our_words(
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Falls:
        def __del__(self) -> None:
            raise KeyError(SECRET)

    def fail() -> None:
        raise ValueError(SECRET)

    def work(_: Shield) -> None:
        thread = threading.Thread(target=fail)
        thread.start()
        thread.join()
        Falls()
        sys.excepthook(ValueError, ValueError(SECRET), None)

    shielded(work)
    said = capsys.readouterr().err
    assert SECRET not in said
    assert said.count("lacre: sealed work: ValueError") == 2
    assert "lacre: sealed work: KeyError at test_protection.py:" in said


def test_swap_is_refused_unless_it_is_allowed(tmp_path: Path) -> None:
    table = tmp_path / "swaps"
    head = "Filename\tType\tSize\n"
    table.write_text(head)
    refuse_swap(table, allowed=False)
    table.write_text(head + "/dev/sda2 partition 100\n")
    with pytest.raises(InputError, match=r"swap: is on \(/dev/sda2\), so that private items may be written"):
        refuse_swap(table, allowed=False)
    refuse_swap(table, allowed=True)
    with pytest.raises(InputError, match="does not tell whether swap is on"):
        refuse_swap(tmp_path / "none", allowed=False)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks Linux of itself")
def test_no_other_process_may_look_in_and_no_core_is_written() -> None:
    program = """
import ctypes, resource
from lacre.sealed.protection import shielded
def look(shield):
    return ctypes.CDLL(None).prctl(3, 0, 0, 0, 0), resource.getrlimit(resource.RLIMIT_CORE)
print(shielded(look), ctypes.CDLL(None).prctl(3, 0, 0, 0, 0))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(0, (0, 0)) 1"


def test_what_writes_keys_down_is_out_and_this_machine_is_reached_directly(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SSLKEYLOGFILE", "keys.log")
    monkeypatch.setenv("NO_PROXY", "example.org")
    monkeypatch.delenv("no_proxy", raising=False)

    def look(_: Shield) -> tuple[str | None, ...]:
        return tuple(os.environ.get(name) for name in ("SSLKEYLOGFILE", "NO_PROXY", "no_proxy"))

    here = "127.0.0.1,localhost,::1"
    assert shielded(look) == (None, f"example.org,{here}", here)
    assert (os.environ["SSLKEYLOGFILE"], os.environ["NO_PROXY"]) == ("keys.log", "example.org")
    assert "no_proxy" not in os.environ
