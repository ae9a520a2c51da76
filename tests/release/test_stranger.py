"""A stranger with a copy, `sha256sum`, `openssl` and a bare Python, following the release's README to the letter."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.release.conftest import Story

needs = [
    pytest.mark.skipif(shutil.which(name) is None, reason=f"{name} is not here")
    for name in ("openssl", "sha256sum", "bash")
]
pytestmark = needs


@pytest.fixture
def copy(story: Story, tmp_path: Path) -> Path:
    """The third release, copied to an empty folder."""
    return Path(shutil.copytree(story.folder(3), tmp_path / "copy"))


def commands(folder: Path) -> list[str]:
    """The blocks of shell in the README."""
    return re.findall(r"```sh\n(.*?)```", (folder / "README.md").read_text(encoding="utf-8"), re.DOTALL)


def shell(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """A script run in the copy with nothing of this environment: no package, no PYTHONPATH."""
    python = Path(sys.executable).resolve().parent  # the system's own, outside any virtual environment
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=folder,
        env={"PATH": f"{python}:/usr/bin:/bin", "LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_commands_of_the_readme_all_pass(story: Story, copy: Path) -> None:
    sums, openssl, python = commands(copy)
    done = shell(copy, sums)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    done = shell(copy, openssl)
    assert done.returncode == 0, done.stderr
    verified, over, fingerprint = done.stdout.splitlines()
    assert verified == "Signature Verified Successfully"
    assert over == "signed over this SHA256SUMS"
    assert fingerprint.split()[0] == story.play.key.fingerprint
    done = shell(copy, python.replace("FINGERPRINT", story.play.key.fingerprint))
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "authentic"), done.stdout + done.stderr


@pytest.mark.parametrize("name", ["README.md", "data/exemplo/open.jsonl", "SHA256SUMS"])
def test_each_of_them_fails_on_a_changed_copy(story: Story, copy: Path, name: str) -> None:
    sums, openssl, python = commands(copy)
    content = (copy / name).read_bytes()
    (copy / name).write_bytes(content[:-2] + b"x" + content[-1:])
    assert shell(copy, sums).returncode != 0
    assert ("SIGNED OVER ANOTHER" in shell(copy, openssl).stdout) == (name == "SHA256SUMS")
    done = shell(copy, python.replace("FINGERPRINT", story.play.key.fingerprint))
    assert (done.returncode, done.stdout.splitlines()[-1]) == (3, "FAILED")


def test_a_changed_statement_fails_under_openssl(copy: Path) -> None:
    _, openssl, _ = commands(copy)
    content = (copy / "release.dsse.json").read_bytes()
    at = content.index(b'"payload":"') + 400
    (copy / "release.dsse.json").write_bytes(
        content[:at] + (b"A" if content[at : at + 1] != b"A" else b"B") + content[at + 1 :]
    )
    done = shell(copy, openssl)
    assert done.returncode != 0
    assert "Signature Verification Failure" in done.stdout


def test_an_item_opened_in_round_2_is_checked_against_its_round_1_commitment(
    story: Story, copy: Path
) -> None:
    """The ids that opened in round 2 and stood in the list of the release before round 1."""
    second = {o.id for o in story.play.public.openings(2)}
    first_list = (story.folder(1) / "registry/exemplo/private/commitments.jsonl").read_text(encoding="utf-8")
    both = {id for id in second if f'"id":"{id}"' in first_list}
    assert both
    done = shell(copy, "python3 -I verify.py")
    assert done.returncode == 1
    line = next(line for line in done.stdout.splitlines() if "openings" in line)
    opened_first = len(story.play.public.openings(1)) + len(both)
    assert f"{opened_first} first committed to in release exemplo-1" in line
    # The list of round 1 with the commitment of one such item changed, listed and signed by nobody else.
    place = copy / "previous/exemplo-1/commitments/exemplo.jsonl"
    place.write_text(
        place.read_text(encoding="utf-8").replace(f'"id":"{min(both)}"', '"id":"p9999"'), encoding="utf-8"
    )
    done = shell(copy, "python3 -I verify.py")
    assert done.returncode == 3
    assert "is not the list of release exemplo-1" in done.stdout


def test_the_verifier_takes_a_tar_and_prints_json_and_refuses_a_wrong_fingerprint(
    story: Story, copy: Path
) -> None:
    done = shell(copy, f"python3 -I verify.py {story.tar(3)} --previous {story.folder(1)} --json")
    assert done.returncode == 0
    assert '"verdict": "authentic"' in done.stdout
    done = shell(copy, "python3 -I verify.py --key abc")
    assert done.returncode == 2
    assert "64 hex digits" in done.stderr


def test_the_tar_unpacks_to_the_release(story: Story, tmp_path: Path) -> None:
    subprocess.run(["tar", "xf", story.tar(3), "-C", tmp_path], check=True)
    done = shell(tmp_path / "exemplo-3", "python3 -I verify.py")
    assert done.returncode == 1
