"""What a team says about itself in each of its releases: ``registry/release.toml`` of a workspace."""

from __future__ import annotations

from pathlib import Path

import msgspec

from lacre.errors import Fault, InputError, RecordError
from lacre.jsonl import explained
from lacre.registry.exams import is_address
from lacre.registry.records import Record
from lacre.registry.settings import Settings

FILE = "release.toml"


class About(Record):
    """Who releases, and how to reach them.

    Attributes:
        publisher: who releases. ``url``: where the benchmark is found. ``contact``: an address for questions.
        access: how to ask for access to rerun the publisher's own column, or that there is none (L22).
        citation: how to cite the benchmark; empty where there is nothing to cite yet.
    """

    publisher: str
    url: str
    contact: str
    access: str
    citation: str = ""


def read_about(registry: Path) -> About:
    """What the workspace says about its team.

    Raises:
        InputError: the file is missing, is not TOML, or lacks a field.
        RecordError: a field is empty, or the url is none.
    """
    path = registry / FILE
    if not path.exists():
        raise InputError(
            path,
            "is missing",
            "Write publisher, url, contact and access: how to ask for access to rerun your own column",
        )
    settings = Settings(path)
    try:
        about = msgspec.convert(settings.values, About)
    except msgspec.ValidationError as error:
        raise InputError(path, explained(error, About), "It needs publisher, url, contact, access") from None
    faults = [
        Fault(settings.line((name,)), f"{name} is empty", "Write it: it stands in every release")
        for name in ("publisher", "contact", "access")
        if not getattr(about, name).strip()
    ]
    if not is_address(about.url):
        faults.append(Fault(settings.line(("url",)), "url is not a web address", "Write it with https://"))
    if faults:
        raise RecordError(path, faults)
    return about
