"""The folder of a probe: a run's folder, and beside the run's record what the probe makes of the replies."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias, assert_never

import msgspec

from lacre import jsonl
from lacre.engine.folders import RunFolder
from lacre.engine.plans import Question, RunRecord
from lacre.errors import InputError
from lacre.probe.canary import CanaryProbe, CanaryResult, canary_questions
from lacre.probe.completion import Probe, asked
from lacre.probe.findings import Found
from lacre.probe.options import OptionsProbe, OptionsResult, options_questions

AnyProbe: TypeAlias = Probe | OptionsProbe | CanaryProbe
AnyFound: TypeAlias = Found | OptionsResult | CanaryResult

FILE, MARKS, FINDINGS = "probe.json", "marks.jsonl", "findings.json"
"""What a probe's folder holds beside run.json and journal.jsonl."""


class ProbeFolder:
    """Where a probe lives, with all that its findings are made of: they can be made again without a workspace."""

    def __init__(self, run: RunFolder) -> None:
        self.run = run
        self.path = run.path

    @classmethod
    def create(cls, path: Path, record: RunRecord, probe: AnyProbe) -> ProbeFolder:
        """A folder for a new probe.

        Raises:
            InputError: there is something there already, or it cannot be made.
        """
        if (path / FILE).is_file():
            raise InputError(
                path,
                "holds a probe already",
                f"Go on with `lacre probe resume {path}`, or choose another folder",
            )
        folder = cls(RunFolder.create(path, record))
        folder.write(FILE, probe)
        return folder

    @classmethod
    def open(cls, path: Path) -> ProbeFolder:
        """The folder of a probe that is there.

        Raises:
            InputError: it is no probe's folder.
        """
        if not (path / FILE).is_file():
            raise InputError(path, "is not the folder of a probe", "Name the one that `lacre probe` printed")
        return cls(RunFolder.open(path))

    def probe(self) -> AnyProbe:
        """What the probe asks.

        Raises:
            InputError: it is damaged.
        """
        path = self.path / FILE
        try:
            return msgspec.json.decode(jsonl.read_bytes(path), type=AnyProbe)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(path, f"is damaged: {error}", "Restore it from a copy") from None

    def write(self, name: str, record: object) -> None:
        """Write a record as JSON, whole or not at all.

        Raises:
            InputError: the disk is full, or the like.
        """
        content = msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"
        try:
            jsonl.write_bytes(self.path / name, content)
        except OSError as error:
            raise InputError(self.path / name, f"cannot be written ({error.strerror})", "Make room") from None


def questions_of(probe: AnyProbe) -> tuple[Question, ...]:
    """What a probe asks, as the engine asks it."""
    match probe:
        case Probe():
            return tuple(each.question for each in asked(probe))
        case OptionsProbe():
            return options_questions(probe)
        case CanaryProbe():
            return canary_questions(probe)
        case _:
            assert_never(probe)
