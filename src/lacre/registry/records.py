"""The base of every record: immutable, named arguments only, unknown fields refused."""

from __future__ import annotations

from typing import Any, dataclass_transform

import msgspec


class RecordMeta(msgspec.StructMeta):
    """Makes fields of every record named arguments: msgspec's own ``kw_only`` does not reach subclasses."""

    def __new__(
        mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **config: Any
    ) -> RecordMeta:
        """A record class whose fields are named arguments."""
        config.setdefault("kw_only", True)
        return super().__new__(mcs, name, bases, namespace, **config)


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Record(
    msgspec.Struct, metaclass=RecordMeta, frozen=True, forbid_unknown_fields=True, omit_defaults=True
):
    """Base of the records on disk. Defaults stay out of the file, so that a new field changes no old line."""
