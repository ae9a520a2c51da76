"""What all tests share: golden files, renewed with ``--update-golden``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files anew instead of comparing"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compares text, byte for byte, with a file in ``golden/`` beside the test."""

    def compare(name: str, text: str) -> None:
        path = Path(request.path).parent / "golden" / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        if not path.exists():
            pytest.fail(f"{path.name} is missing: run once with --update-golden, then read it")
        # Not assert: a diff of two whole pages would bury the message.
        if path.read_bytes() != text.encode():
            pytest.fail(
                f"{path.name} differs: if the change is meant, run with --update-golden and read the diff"
            )

    return compare
