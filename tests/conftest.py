"""What all tests share: golden files, renewed with ``--update-golden``."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# The same examples on every machine: a law that fails in CI fails at home. HYPOTHESIS_PROFILE=search looks further.
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the golden files anew instead of comparing"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Modules marked ``together`` make something dear that their tests share: one worker runs all of one."""
    for item in items:
        if item.get_closest_marker("together") is not None:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
    # Long ones first: a worker that began one last would play on alone.
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


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
