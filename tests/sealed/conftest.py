"""A server that answers as the message decides."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engine.server import Server
from tests.sealed.making import Sealing, sealing, varied


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Answers with a letter, or that it does not know."""
    with Server(varied) as server:
        yield server


@pytest.fixture
def sealed(tmp_path: Path, server: Server) -> Sealing:
    """120 private items that no column was shown yet."""
    server.seen.clear()
    return sealing(tmp_path, server.endpoint("openai"))
