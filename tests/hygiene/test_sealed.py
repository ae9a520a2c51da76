"""Whatever goes wrong in a sealed run, no word of an item, key, criterion or reply is anywhere outside it (SPEC X5)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.engine.server import Server
from tests.hygiene.scanning import selftest
from tests.hygiene.sealed_stage import (
    FAULTS,
    IN_REPLY,
    MARKERS,
    STRACE,
    Fault,
    counted,
    marked,
    row,
    run_name,
    stage,
    watched,
)

PAGE = Path(__file__).parents[2] / "docs/explanation/sealed.md"
MEANS = ("--vault", "../vault", "--identity", "../operator.txt", "--key", "../team.key", "--allow-swap")
QUICK = ("none", "crash in the client library")


def test_the_search_finds_every_form_of_a_word(tmp_path: Path) -> None:
    assert selftest(tmp_path / "forms", IN_REPLY) > 10


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(fault, id=fault.name, marks=() if fault.name in QUICK else pytest.mark.slow)
        for fault in FAULTS
    ],
)
def test_no_marker_is_left_anywhere(fault: Fault, tmp_path: Path) -> None:
    with Server(fault.script) as server:
        sealed = stage(tmp_path, server.endpoint("openai"), fault.concurrency)
        fault.before(sealed)
        undecided = () if "cannot read" in fault.name else ("--undecided", "wrong")
        start = ("run", "start", "exemplo", "--column", "local", "--sealed", *undecided, *MEANS)
        done = watched(tmp_path, start, fault, server, nth=1)
        assert done.code in fault.codes, done.said
        assert "Traceback" not in done.said
        strays = done.strays
        if STRACE:
            # The watching itself works: the lock of the vault at least is opened for writing.
            assert any(path.endswith("vault/lock") for path in done.written) or done.code == 2
        found = counted(tmp_path)
        assert not any(found.values()), found
        if fault.resumed:
            name = run_name(tmp_path)
            assert name is not None, done.said
            server.script = marked
            again = ("run", "resume", name, "--failed", "--undecided", "wrong", *MEANS)
            resumed = watched(tmp_path, again, fault, server, nth=2, faulty=False)
            assert resumed.code == 0, resumed.said
            strays += resumed.strays
            found = counted(tmp_path)
    assert not any(found.values()), found
    assert not strays
    line = row(fault.name, found, len(strays) if STRACE else None)
    if STRACE:
        assert line in PAGE.read_text(encoding="utf-8"), line


def test_the_markers_were_really_sent(tmp_path: Path) -> None:
    with Server(marked) as server:
        stage(tmp_path, server.endpoint("openai"))
        start = ("run", "start", "exemplo", "--column", "local", "--sealed", "--undecided", "wrong", *MEANS)
        assert watched(tmp_path, start, FAULTS[0], server, nth=1).code == 0
        sent = " ".join(seen.text for seen in server.seen)
    # Keys and criteria are no part of a message but as options.
    assert all(marker in sent for marker in MARKERS[:2])
