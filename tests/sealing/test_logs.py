"""Logs of sealed runs inside the vault: whole frames or none, and none that was moved, damaged or made by others."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from lacre.errors import InputError, IntegrityError
from lacre.sealing.ages import Identity, new_identity
from lacre.sealing.inspection import inspect
from lacre.sealing.logs import SealedLog, known_logs, log_names, remove_logs
from lacre.sealing.marks import Mark, furthest, mark_path
from lacre.sealing.seen import LogSeen
from lacre.sealing.vault import Vault, open_vault

from .faults import MARKER
from .making import empty_vault

LINES = [f"{MARKER} {number}\n".encode() for number in range(6)]


@pytest.fixture
def identity(tmp_path: Path) -> Identity:
    return empty_vault(tmp_path / "vault")


@pytest.fixture
def vault(tmp_path: Path, identity: Identity) -> Iterator[Vault]:
    with open_vault(tmp_path / "vault", identity) as opened:
        yield opened


def written(vault: Vault, name: str = "run-1") -> Path:
    """A log of three frames."""
    log = SealedLog(vault, name)
    for start in (0, 2, 4):
        log.append(LINES[start : start + 2])
    log.close()
    mark_path(vault, name).unlink()  # each test says itself what the vault knows of its log
    return log.path


def frames(path: Path) -> list[bytes]:
    content, found = path.read_bytes(), []
    while content:
        size = 48 + int.from_bytes(content[:8], "big")
        found.append(content[:size])
        content = content[size:]
    return found


def test_lines_come_back_in_order_and_more_can_follow(vault: Vault) -> None:
    written(vault)
    log = SealedLog(vault, "run-1")
    assert list(log.lines()) == LINES
    log.append([b"last\n"])
    assert list(log.lines()) == [*LINES, b"last\n"]
    log.close()
    assert log.torn == 0
    assert log_names(vault) == ("run-1",)


def test_no_word_of_a_line_stands_in_the_file_and_only_its_owner_may_read_it(vault: Vault) -> None:
    path = written(vault)
    assert MARKER.encode() not in path.read_bytes()
    assert path.stat().st_mode & 0o777 == 0o600
    assert inspect(vault).faults == ()


def test_a_frame_cut_short_anywhere_is_taken_away_and_told(vault: Vault) -> None:
    path = written(vault)
    whole = path.read_bytes()
    ends = [len(frames(path)[0]), len(frames(path)[0]) + len(frames(path)[1]), len(whole)]
    for cut in [*range(0, 60), ends[0] - 1, ends[0] + 1, ends[0] + 47, ends[1] + 500, len(whole) - 1]:
        path.write_bytes(whole[:cut])
        mark_path(vault, "run-1").unlink(missing_ok=True)
        log = SealedLog(vault, "run-1")
        kept = sum(end <= cut for end in ends)
        assert list(log.lines()) == LINES[: 2 * kept]
        assert log.torn == cut - ([0, *ends][kept])
        log.append([b"again\n"])
        assert list(log.lines())[-1] == b"again\n"
        log.close()


def test_any_changed_byte_is_named_damage_and_nothing_is_read_past_it(vault: Vault) -> None:
    path = written(vault)
    whole = path.read_bytes()
    first = len(frames(path)[0])
    for place in [*range(0, 49), 100, first - 1, first + 45, len(whole) - 1]:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(IntegrityError) as caught:
            SealedLog(vault, "run-1")
        assert MARKER not in str(caught.value)
        assert inspect(vault).faults != ()


@pytest.mark.parametrize("order", [(1, 0, 2), (0, 2), (1, 2), (0, 0, 1, 2)])
def test_frames_that_were_moved_left_out_or_doubled_are_found(vault: Vault, order: tuple[int, ...]) -> None:
    path = written(vault)
    parts = frames(path)
    path.write_bytes(b"".join(parts[place] for place in order))
    with pytest.raises(IntegrityError, match="not the one that was written there"):
        SealedLog(vault, "run-1")


def test_frames_of_another_log_are_found(vault: Vault) -> None:
    path = written(vault, "run-1")
    other = written(vault, "run-2")
    path.write_bytes(other.read_bytes())
    with pytest.raises(IntegrityError):
        SealedLog(vault, "run-1")


def test_a_full_disk_adds_nothing_and_leaves_what_was_there(vault: Vault) -> None:
    log = SealedLog(vault, "run-1")
    log.append(LINES[:2])
    size = log.path.stat().st_size
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 1000, before[1]))
    try:
        with pytest.raises(OSError, match="large"):
            log.append(LINES[2:])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert log.path.stat().st_size == size
    log.append(LINES[2:4])
    assert list(log.lines()) == LINES[:4]
    log.close()


def seen(vault: Vault, name: str = "run-1", *, marked: bool = False) -> LogSeen:
    """Has the vault see a log of three frames."""
    written(vault, name)
    log = SealedLog(vault, name)
    found = LogSeen(frames=log.head.number, digest=log.head.digest, replies=6)
    log.close()
    mark_path(vault, name).unlink()
    if not marked:
        with vault.change() as change:
            change.see_log(name, found)
    else:
        Mark(vault, name, found).close()
    return found


@pytest.mark.parametrize("marked", [True, False], ids=["by its mark", "by the index"])
@pytest.mark.parametrize("left", [0, 1, 2])
def test_whole_frames_that_are_missing_at_the_end_are_found(vault: Vault, left: int, marked: bool) -> None:
    seen(vault, marked=marked)
    path = written(vault, "run-2").with_name("run-1.log.age")
    path.write_bytes(b"".join(frames(path)[:left]))
    what = f"has {left} of at least 3 frames; 6 replies at least were in it"
    with pytest.raises(IntegrityError, match=what):
        SealedLog(vault, "run-1")
    assert any(what in fault for fault in inspect(vault).faults)
    log = SealedLog(vault, "run-1", lossy=True)
    assert list(log.lines()) == LINES[: 2 * left]
    assert what in (log.lost or "")
    log.close()


def test_a_log_that_is_gone_is_missed_and_not_made_anew(vault: Vault) -> None:
    seen(vault)
    path = vault.folder / "logs" / "run-1.log.age"
    path.unlink()
    for _ in range(2):
        with pytest.raises(IntegrityError, match="is missing, and 6 replies at least were in it"):
            SealedLog(vault, "run-1")
    assert not path.exists()
    assert any("is missing" in fault for fault in inspect(vault).faults)
    with vault.change() as change:
        change.see_log("run-1", None)
    assert inspect(vault).faults == ()


def test_a_mark_follows_each_frame_and_an_unreadable_one_says_nothing(vault: Vault) -> None:
    log = SealedLog(vault, "run-1")
    mark = mark_path(vault, "run-1")
    for number, line in enumerate(LINES[:3], 1):
        log.replies = number
        log.append([line])
        assert furthest(vault, "run-1") == LogSeen(frames=number, digest=log.head.digest, replies=number)
    log.close()
    assert MARKER.encode() not in mark.read_bytes()
    assert mark.stat().st_mode & 0o777 == 0o600
    assert inspect(vault).faults == ()
    whole = mark.read_bytes()
    for damaged in (b"", whole[:100], bytes(len(whole)), whole[:900] + b"x" + whole[901:]):
        mark.write_bytes(damaged)
        assert furthest(vault, "run-1") is None
        assert inspect(vault).faults == ()
    mark.write_bytes(whole)
    mark.rename(mark_path(vault, "run-2"))  # that of another log
    assert furthest(vault, "run-2") is None
    remove_logs(vault, known_logs(vault))
    assert known_logs(vault) == ()
    assert not list(mark.parent.iterdir())


def test_a_log_that_was_written_anew_is_another(vault: Vault) -> None:
    seen(vault)
    (vault.folder / "logs" / "run-1.log.age").unlink()
    known, vault.index = vault.index, msgspec.structs.replace(vault.index, logs={})
    written(vault)
    vault.index = known
    with pytest.raises(IntegrityError, match="is another than the vault saw from frame 3 back"):
        SealedLog(vault, "run-1")


def test_a_damaged_log_is_read_as_far_as_it_holds_where_its_run_is_given_up(vault: Vault) -> None:
    path = written(vault)
    whole, first = path.read_bytes(), len(frames(path)[0])
    for place in (first + 3, first + 60):  # a head, and a frame
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        log = SealedLog(vault, "run-1", lossy=True)
        assert list(log.lines()) == LINES[:2]
        assert log.lost is not None
        log.close()
        assert len(path.read_bytes()) == len(whole)


def test_a_log_that_is_a_link_says_so(vault: Vault) -> None:
    path = written(vault)
    path.rename(vault.folder.parent / "elsewhere")
    path.symlink_to(vault.folder.parent / "elsewhere")
    with pytest.raises(InputError, match=r"is a link\. Put the file itself there"):
        SealedLog(vault, "run-1")


def test_a_log_that_cannot_be_written_says_so(vault: Vault) -> None:
    (vault.folder / "logs").write_bytes(b"")
    with pytest.raises(InputError, match="cannot be written"):
        SealedLog(vault, "run-1")


def test_a_vault_with_a_run_under_way_is_not_rekeyed(vault: Vault) -> None:
    written(vault)
    with pytest.raises(InputError, match="a sealed run is under way"), vault.change() as change:
        change.rekey({"custodian": new_identity().recipient})


def test_a_stranger_among_the_logs_is_named(vault: Vault) -> None:
    written(vault)
    path = vault.folder / "logs" / "notes.txt"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    os.close(handle)
    assert any("notes.txt" in fault for fault in inspect(vault).faults)
