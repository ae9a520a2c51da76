"""The environment of a process that coverage is not to measure."""

from __future__ import annotations

import os


def untraced() -> dict[str, str]:
    """This environment without what measures coverage.

    For processes whose files may not grow: coverage would find no room for its own, and leave a malformed one.
    """
    return {name: value for name, value in os.environ.items() if not name.startswith("COV")}
