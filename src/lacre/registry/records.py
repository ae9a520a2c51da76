"""The base of every record: immutable, named arguments only, unknown fields refused."""

from __future__ import annotations

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of the records on disk. Defaults are left out of the file, so that a new field changes no old line."""
