"""Keys: from an environment variable or a file that only its owner can read; never printed, never kept."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from pathlib import Path

from lacre.errors import InputError
from lacre.registry.columns import Column


class Key:
    """A key that does not show itself: only :meth:`reveal` gives it.

    >>> key = Key("abc", "$K")
    >>> str(key), repr([key])
    ('$K', '[$K]')
    """

    __slots__ = ("_secret", "name")

    def __init__(self, secret: str, name: str) -> None:
        self._secret = secret
        self.name = name

    def reveal(self) -> str:
        """The key itself, for the header of a request and nothing else."""
        return self._secret

    def __repr__(self) -> str:
        """Where the key comes from."""
        return self.name

    __str__ = __repr__

    def __reduce__(self) -> str:
        """No copy of a key goes to disk or to another process."""
        raise TypeError("a key is not to be copied")


def read_key(card: Column, environment: Mapping[str, str]) -> Key | None:
    """The key of a column; none when its card names no place for one.

    Raises:
        InputError: the variable is not set, the file is missing, others can read it, or it holds no key.
    """
    where = f"column '{card.id}'"
    if card.key_env is not None:
        secret = environment.get(card.key_env, "").strip()
        if not secret:
            raise InputError(
                where, f"the environment variable {card.key_env} is not set", "Export the key under this name"
            )
        return Key(_plain(secret, where), f"${card.key_env}")
    if card.key_file is None:
        return None
    path = Path(card.key_file).expanduser()
    try:
        mode = path.stat().st_mode
        secret = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise InputError(where, f"its key file {path} cannot be read", "Check key_file on its card") from None
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise InputError(where, f"others can read its key file {path}", f"Run chmod 600 {path}")
    if not secret:
        raise InputError(where, f"its key file {path} is empty", "Write the key there")
    return Key(_plain(secret, where), str(path))


def _plain(secret: str, where: str) -> str:
    """The key, when it can stand in a header."""
    if not secret.isascii() or not secret.isprintable() or " " in secret:
        raise InputError(where, "its key holds blanks or characters that no key has", "Copy it again")
    return secret
