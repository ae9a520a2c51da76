"""The program itself, as a release carries it: its files, what it needs, and one hash for all of it (SPEC L22)."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Mapping
from pathlib import Path

import lacre
from lacre.digest import canonical, sha256
from lacre.release.statement import Code
from lacre.release.verify import sums_bytes

TOP = f"lacre-{lacre.__version__}"
TAR = f"code/{TOP}.tar"
"""Where a release holds the program."""


def code_files() -> dict[str, bytes]:
    """The files of this program, by their name in its tar."""
    root = Path(lacre.__file__).parent
    found = {
        f"{TOP}/lacre/{path.relative_to(root).as_posix()}": path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
    needs = importlib.metadata.requires("lacre") or []
    found[f"{TOP}/requirements.txt"] = "".join(
        f"{each}\n" for each in sorted(needs) if "extra" not in each
    ).encode()
    return found


def code_of(files: Mapping[str, bytes]) -> Code:
    """The version of the program, and the SHA-256 of the list of its files' SHA-256 (as in SHA256SUMS)."""
    sums = {name: sha256(content) for name, content in files.items()}
    return Code(lacre=lacre.__version__, files=sha256(sums_bytes(sums)))


def code_json(code: Code) -> bytes:
    """``code.json``: version and hash."""
    return canonical(code) + b"\n"
