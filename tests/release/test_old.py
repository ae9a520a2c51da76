"""Every release that was ever made still verifies: with today's verifier, and with the one it carries."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lacre.release.verify import tree_of, verify
from lacre.sealing.keys import key_from

HERE = Path(__file__).parents[1] / "releases"
PACKAGES: dict[str, str] = json.loads((HERE / "packages.json").read_text(encoding="utf-8"))
KEY = key_from(bytes(32)).fingerprint


def test_none_is_lost_and_none_is_new() -> None:
    assert {path.name for path in HERE.glob("*.tar")} == set(PACKAGES)


@pytest.mark.parametrize("name", sorted(PACKAGES))
def test_an_old_release_verifies_with_the_verifier_of_today(name: str) -> None:
    outcome = verify(HERE / name, key=KEY)
    assert (outcome.verdict, outcome.package) == ("authentic", PACKAGES[name]), outcome.checks
    assert {check.status for check in outcome.checks} == {"ok"}


@pytest.mark.parametrize("name", sorted(PACKAGES))
def test_an_old_release_verifies_with_the_verifier_that_it_carries(name: str, tmp_path: Path) -> None:
    program = tmp_path / "verify.py"
    program.write_bytes(tree_of(HERE / name).read("verify.py"))
    done = subprocess.run(
        [sys.executable, "-I", program, HERE / name, "--key", KEY],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "authentic"), done.stdout


def test_each_goes_on_from_those_of_its_format_before_it() -> None:
    for format_ in sorted({name.partition("-")[0] for name in PACKAGES}):
        names = sorted(HERE.glob(f"{format_}-*.tar"))
        for number, name in enumerate(names):
            assert verify(name, previous=names[:number] or [name]).verdict == "authentic"
            assert verify(name, previous=names[number + 1 :] or [name]).verdict == (
                "failed" if names[number + 1 :] else "authentic"
            )
