"""Publishing: to a folder, and to a server that speaks what the Hub speaks; nothing twice, nothing halfway."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import HfApi, constants
from tests.release.hub import Hub, serving
from tests.release.making import played, release
from tests.release.resigning import read
from tests.rotation.making import Stage, items

from lacre.errors import ColumnError, InputError, IntegrityError, LacreError
from lacre.release.manifests import published
from lacre.release.publish import git_hash, shipment, to_folder, to_hub
from lacre.release.verify import verify

# The Hub's library hands its HTTP library a file in a way that this one deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")

AT = "2026-12-02T00:00:00Z"
TO = "hf://datasets/equipe/exemplo"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Stage, Path, Path]:
    """A workspace with two releases."""
    play = played(tmp_path_factory.mktemp("made"))
    play.add(items(6), "b1")
    return play, Path(release(play, "r1").folder), Path(release(play, "r2").folder)


@pytest.fixture
def workspace(made: tuple[Stage, Path, Path], tmp_path: Path) -> Path:
    """A copy of the workspace, whose notes a test may change."""
    return Path(shutil.copytree(made[0].root, tmp_path / "workspace"))


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    # As the command sets it: files go by their SHA-256.
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_PROGRESS_BARS", True)
    with serving() as server:
        yield server


def sent(root: Path, folder: Path, hub: Hub) -> str:
    api = HfApi(endpoint=hub.url, token="hf_none")
    return to_hub(root, folder, TO, shipment(root, folder), api, at=AT).revision


def test_a_dataset_holds_exactly_the_release_at_a_pinned_and_noted_revision(
    made: tuple[Stage, Path, Path], workspace: Path, hub: Hub
) -> None:
    first, second = made[1:]
    revision = sent(workspace, first, hub)
    assert hub.head("equipe/exemplo").files == read(first)
    assert hub.tags["equipe/exemplo"] == {"r1": revision}
    (note,) = published(workspace, "r1")
    assert (note.to, note.revision) == (f"{TO}@{revision}", revision)
    again = sent(workspace, second, hub)
    assert hub.head("equipe/exemplo").files == read(second)
    assert hub.tags["equipe/exemplo"] == {"r1": revision, "r2": again}
    assert len(hub.commits["equipe/exemplo"]) == 3


def test_what_is_there_is_not_sent_again(made: tuple[Stage, Path, Path], workspace: Path, hub: Hub) -> None:
    first, second = made[1:]
    revision = sent(workspace, first, hub)
    uploads = hub.asked["upload"]
    assert sent(workspace, first, hub) == revision
    assert (hub.asked["commit"], hub.asked["upload"], hub.asked["tag"]) == (1, uploads, 1)
    sent(workspace, second, hub)
    assert hub.asked["upload"] == uploads  # the program and such are in storage already


@pytest.mark.parametrize("kind", ["preupload", "batch", "upload", "commit", "tag", "refs", "tree", "create"])
def test_an_upload_that_was_cut_short_goes_on(
    made: tuple[Stage, Path, Path], workspace: Path, hub: Hub, kind: str
) -> None:
    hub.fail = {kind: 100}
    with pytest.raises(ColumnError, match="Run it again"):
        sent(workspace, made[1], hub)
    assert published(workspace, "r1") == []
    uploads = hub.asked["upload"] if kind not in ("upload",) else 0
    hub.fail = {}
    revision = sent(workspace, made[1], hub)
    assert hub.head("equipe/exemplo").files == read(made[1])
    assert hub.tags["equipe/exemplo"] == {"r1": revision}
    assert len(hub.commits["equipe/exemplo"]) == 2
    if uploads:
        assert hub.asked["upload"] == uploads


def test_a_commit_whose_answer_was_lost_is_not_made_twice(
    made: tuple[Stage, Path, Path], workspace: Path, hub: Hub
) -> None:
    hub.swallow_commit = True
    with pytest.raises(ColumnError):
        sent(workspace, made[1], hub)
    sent(workspace, made[1], hub)
    assert len(hub.commits["equipe/exemplo"]) == 2


def test_a_change_that_somebody_made_in_between_is_not_lost(
    made: tuple[Stage, Path, Path], workspace: Path, hub: Hub
) -> None:
    api = HfApi(endpoint=hub.url, token="hf_none")
    ship = shipment(workspace, made[1])

    def meddle(text: str) -> None:
        line = {"key": "file", "value": {"path": "x", "content": "eA=="}}
        hub.commit("equipe/exemplo", [line])

    with pytest.raises(ColumnError, match="Run it again"):
        to_hub(workspace, made[1], TO, ship, api, at=AT, say=meddle)
    sent(workspace, made[1], hub)
    assert "x" not in hub.head("equipe/exemplo").files


def test_a_tag_is_never_moved(made: tuple[Stage, Path, Path], workspace: Path, hub: Hub) -> None:
    sent(workspace, made[1], hub)
    hub.tags["equipe/exemplo"]["r2"] = "0" * 40
    with pytest.raises(InputError, match="A published release is never moved"):
        sent(workspace, made[2], hub)


def test_a_server_that_keeps_other_bytes_is_found_out(
    made: tuple[Stage, Path, Path], workspace: Path, hub: Hub
) -> None:
    class Forgetful(HfApi):
        def create_commit(self, *args: Any, **values: Any) -> Any:
            done = super().create_commit(*args, **values)
            hub.head("equipe/exemplo").files["README.md"] = b"other"
            return done

    api = Forgetful(endpoint=hub.url, token="hf_none")
    with pytest.raises(IntegrityError, match=r"README\.md is not that of the release"):
        to_hub(workspace, made[1], TO, shipment(workspace, made[1]), api, at=AT)


def test_nobody_answers(made: tuple[Stage, Path, Path], workspace: Path) -> None:
    api = HfApi(endpoint="http://127.0.0.1:9", token="hf_none")
    with pytest.raises(ColumnError, match="cannot be published"):
        to_hub(workspace, made[1], TO, shipment(workspace, made[1]), api, at=AT)


def test_a_revision_is_for_the_hub_to_make(made: tuple[Stage, Path, Path], workspace: Path) -> None:
    with pytest.raises(InputError, match="names a revision"):
        to_hub(workspace, made[1], f"{TO}@v1", shipment(workspace, made[1]), HfApi(), at=AT)


def changed(folder: Path, tmp_path: Path) -> Path:
    copy = Path(shutil.copytree(folder, tmp_path / "copies" / folder.name))
    (copy / "README.md").write_bytes(b"x")
    return copy


def test_what_does_not_verify_or_was_not_guarded_is_refused(
    made: tuple[Stage, Path, Path], workspace: Path, tmp_path: Path
) -> None:
    with pytest.raises(IntegrityError, match="It is never published so"):
        shipment(workspace, changed(made[1], tmp_path))
    with pytest.raises(InputError, match="is no release"):
        shipment(workspace, tmp_path)
    other = Path(shutil.copytree(made[1], tmp_path / "r9"))
    with pytest.raises(InputError, match="is no release that the ledger names"):
        shipment(workspace, other)
    note = workspace / "manifests/r1/guard.json"
    kept = json.loads(note.read_text(encoding="utf-8"))
    note.write_text(json.dumps({**kept, "package": "0" * 64}), encoding="utf-8")
    with pytest.raises(InputError, match="the guard has not passed this package"):
        shipment(workspace, made[1])
    note.write_text("{}", encoding="utf-8")
    with pytest.raises(LacreError, match="is damaged"):
        shipment(workspace, made[1])
    note.unlink()
    with pytest.raises(LacreError, match="no such file"):
        shipment(workspace, made[1])


def test_a_folder_gets_the_release_and_its_tar(
    made: tuple[Stage, Path, Path], workspace: Path, tmp_path: Path
) -> None:
    target = tmp_path / "mirror"
    for _ in range(2):  # the second time nothing changes
        to_folder(workspace, made[1], target, shipment(workspace, made[1]), at=AT)
    assert read(target / "r1") == read(made[1])
    key = made[0].key.fingerprint
    assert verify(target / "r1.tar", key=key).verdict == "authentic"
    assert len(published(workspace, "r1")) == 2
    shutil.rmtree(target / "r1")
    (target / "r1").mkdir()
    with pytest.raises(InputError, match="is something else"):
        to_folder(workspace, made[1], target, shipment(workspace, made[1]), at=AT)


def test_a_git_hash_is_git_s_own(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"hello\n")
    assert git_hash(path) == "ce013625030ba8dba906f756967f9e9ca394464a"
