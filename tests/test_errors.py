"""Messages say where, what and what to do; codes tell the kind."""

from __future__ import annotations

import errno
import os

import pytest

from lacre.errors import (
    ColumnError,
    Exit,
    Fault,
    IncompleteError,
    InputError,
    IntegrityError,
    LacreError,
    RecordError,
    remedy,
    sentence,
)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (InputError("a", "b"), Exit.BAD_INPUT),
        (RecordError("a", []), Exit.BAD_INPUT),
        (IntegrityError("a"), Exit.INTEGRITY),
        (ColumnError("a"), Exit.COLUMN),
        (IncompleteError("a"), Exit.INCOMPLETE),
    ],
)
def test_each_kind_has_its_code(error: LacreError, code: Exit) -> None:
    assert isinstance(error, LacreError)
    assert error.exit_code == code


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (("a.csv", "is empty", ""), "a.csv: is empty."),
        (("a.csv", "is empty.", "Give items."), "a.csv: is empty. Give items."),
        (("a.csv", "is empty", "Give items"), "a.csv: is empty. Give items."),
    ],
)
def test_a_sentence_ends_with_one_full_stop(parts: tuple[str, str, str], expected: str) -> None:
    assert sentence(*parts) == expected


def test_a_record_error_lists_every_fault_on_its_own_line() -> None:
    error = RecordError("a.jsonl", [Fault(2, "no id", "Give one"), Fault(9, "no stem")])
    assert str(error).splitlines() == ["a.jsonl:2: no id. Give one.", "a.jsonl:9: no stem."]
    assert [fault.line for fault in error.faults] == [2, 9]


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "Make room"),
        (errno.EFBIG, "Raise the limit on the size of files (`ulimit -f`)"),
        (errno.EIO, "Check the disk: it may be failing"),
        (errno.EACCES, "Check its permissions"),
        (errno.ELOOP, "Check the disk and the permissions"),
    ],
)
def test_only_a_full_disk_asks_for_room(number: int, said: str) -> None:
    assert remedy(OSError(number, os.strerror(number))) == said
