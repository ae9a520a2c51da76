"""kill -9 at every write, and a disk that is full at every write: nothing lost, nothing doubled, nothing bare."""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.sealing.faults import MARKER, Failing, full, killed_at_every_step, leaks
from tests.sealing.making import WORKSPACE, counted, empty_vault, private
from tests.untraced import untraced

from lacre.errors import InputError
from lacre.registry import ledger as ledgers
from lacre.registry.events import BatchCommit, Genesis, KeyAdd
from lacre.registry.items import Item
from lacre.sealing.ages import Identity, new_identity
from lacre.sealing.batches import read_rows, row_faults, rows_place, seal_batch
from lacre.sealing.disk import Disk
from lacre.sealing.inspection import inspect
from lacre.sealing.keys import key_from
from lacre.sealing.vault import Vault, create_vault, open_vault

AT = "2026-01-31T12:00:00Z"
KEY = key_from(bytes(32))
FIRST = [private("a", stem=f"Onde fica a {MARKER}?"), private("b")]
SECOND = [private("c", stem=f"Quem plantou a {MARKER}?"), private("d"), private("e")]


class Ground:
    """A workspace with a vault in which one batch is sealed, and a way to put both back as they were."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "now/workspace"
        self.vault = folder / "now/vault"
        (self.root / "registry/exemplo").mkdir(parents=True)
        path = self.root / "registry/ledger.jsonl"
        ledgers.append(path, Genesis(workspace=WORKSPACE), at=AT)
        added = KeyAdd(fingerprint=KEY.fingerprint, key=KEY.public.text, name="equipe")
        ledgers.append(path, added, at=AT, signer=KEY)
        self.identity: Identity = empty_vault(self.vault)
        with self.open() as vault:
            self.seal(vault, FIRST, "1")
            with vault.change() as change:
                change.keep("notes", MARKER.encode())
        shutil.copytree(folder / "now", folder / "before")

    def back(self) -> None:
        shutil.rmtree(self.folder / "now")
        shutil.copytree(self.folder / "before", self.folder / "now")

    def open(self, disk: Disk | None = None, identity: Identity | None = None):  # type: ignore[no-untyped-def]
        return open_vault(self.vault, identity or self.identity, random=counted(), disk=disk)

    def seal(self, vault: Vault, items: list[Item], batch: str) -> None:
        seal_batch(vault, "exemplo", items, batch, at=AT, root=self.root, signer=KEY)

    def check(self, vault: Vault) -> list[str]:
        """Ids in the vault; everything in it, and in public, agrees with everything else."""
        assert inspect(vault).faults == ()
        place = self.root / rows_place("exemplo")
        assert row_faults(vault, "exemplo", place) == []
        ledger = ledgers.read(self.root / "registry/ledger.jsonl")
        committed = [line.event.items for line in ledger.lines if isinstance(line.event, BatchCommit)]
        assert sum(committed) == len(read_rows(place)) == len(vault.rows())
        assert leaks(self.folder) == []
        assert not [path for path in self.folder.rglob("*.part") if "before" not in path.parts]
        return [row.id for row in vault.rows()]


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


def adding(ground: Ground) -> Callable[[Disk], None]:
    def work(disk: Disk) -> None:
        with ground.open(disk) as vault:
            ground.seal(vault, SECOND, "2")

    return work


@pytest.mark.parametrize("half", [False, True])
def test_killed_at_any_write_of_an_add_the_vault_has_all_of_it_or_nothing(ground: Ground, half: bool) -> None:
    seen = set()
    for at in killed_at_every_step(adding(ground), half=half):
        assert leaks(ground.folder) == [], at
        with ground.open() as vault:
            ids = ground.check(vault)
            assert ids in (["a", "b"], ["a", "b", "c", "d", "e"]), at
            assert vault.recovered.what != "undone" or ids == ["a", "b"]
            seen.add((vault.recovered.what, len(ids)))
            ground.seal(vault, SECOND, "2")
            assert ground.check(vault) == ["a", "b", "c", "d", "e"], at
        ground.back()
    # Before anything was staged, before the decision, after it, and after the commit.
    assert {("undone", 2), ("finished", 5)} <= seen
    assert at > 25


@pytest.mark.parametrize("half", [False, True])
def test_killed_at_any_write_of_the_recovery_itself(ground: Ground, half: bool) -> None:
    def decided(disk: Disk) -> None:
        # The intent is there, and only some of the files are in their places.
        with ground.open(Failing(16, full, half=False)) as vault:
            ground.seal(vault, SECOND, "2")

    with pytest.raises(InputError, match="The change was decided"):
        decided(Disk())
    shutil.rmtree(ground.folder / "before")
    shutil.copytree(ground.folder / "now", ground.folder / "before")

    def recovering(disk: Disk) -> None:
        with ground.open(disk):
            pass

    for at in killed_at_every_step(recovering, half=half):
        with ground.open() as vault:
            assert ground.check(vault) == ["a", "b", "c", "d", "e"], at
        ground.back()


@pytest.mark.parametrize("half", [False, True])
def test_killed_at_any_write_of_a_rekey_somebody_can_open_all_of_it(ground: Ground, half: bool) -> None:
    new = new_identity()

    def rekeying(disk: Disk) -> None:
        with ground.open(disk) as vault, vault.change() as change:
            change.rekey({"new": new.recipient})

    for at in killed_at_every_step(rekeying, half=half):
        opened = 0
        for identity in (ground.identity, new):
            try:
                with ground.open(identity=identity) as vault:
                    assert ground.check(vault) == ["a", "b"], at
                    assert vault.document("notes") == MARKER.encode()
                    opened += 1
            except InputError:
                continue
        assert opened >= 1, at
        ground.back()


@pytest.mark.parametrize("half", [False, True])
def test_killed_at_any_write_of_a_change_of_every_kind(ground: Ground, half: bool) -> None:
    moved = private("b", cell={"area": "direito", "difficulty": "dificil"})

    def work(disk: Disk) -> None:
        with ground.open(disk) as vault, vault.change() as change:
            change.replace(moved)
            change.remove("a")
            change.forget("notes")
            change.keep("other", b"x")

    for at in killed_at_every_step(work, half=half):
        with ground.open() as vault:
            assert inspect(vault).faults == ()
            before = [row.id for row in vault.rows()] == ["a", "b"]
            assert vault.documents() == (("notes",) if before else ("other",)), at
            assert (vault.sealed("b").item == moved) is not before
        ground.back()


@pytest.mark.parametrize("half", [False, True])
def test_a_disk_that_is_full_at_any_write_is_named_and_loses_nothing(ground: Ground, half: bool) -> None:
    for at in range(100):
        said = refused(adding(ground), Failing(at, full, half=half))
        if said is None:
            break
        assert "No space left on device" in said
        with ground.open() as vault:
            due = ["a", "b"] if "Nothing was changed" in said else ["a", "b", "c", "d", "e"]
            assert ground.check(vault) == due, at
        ground.back()
    assert at > 25


def refused(work: Callable[[Disk], None], disk: Disk) -> str | None:
    """What the error of some work says, none when it went well."""
    try:
        work(disk)
    except InputError as error:
        return str(error)
    return None


def test_a_real_limit_on_files_is_named(tmp_path: Path) -> None:
    ground = Ground(tmp_path)
    script = (
        "import resource, sys; from tests.sealing.test_crash import *\n"
        "from pathlib import Path; from lacre.sealing.ages import read_identity\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (6000, 6000))\n"
        "try:\n"
        "    with open_vault(Path(sys.argv[1]), read_identity(Path(sys.argv[2]), input)) as vault:\n"
        "        with vault.change() as change:\n"
        "            change.keep('big', b'x' * 9000)\n"
        "except InputError as error:\n"
        "    print(error)\n"
    )
    secret = tmp_path / "identity.txt"
    secret.write_text(str(ground.identity.secret))
    secret.chmod(0o600)
    done = subprocess.run(
        [sys.executable, "-c", script, str(ground.vault), str(secret)],
        capture_output=True, text=True, check=True, env=untraced(),
    )  # fmt: skip
    assert "File too large" in done.stdout
    assert (
        "Nothing was changed. Raise the limit on the size of files (`ulimit -f`), and run again."
        in done.stdout
    )
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 6000
    with ground.open() as vault:
        assert ground.check(vault) == ["a", "b"]


def test_a_vault_killed_while_it_is_made_is_none_or_whole(tmp_path: Path) -> None:
    identity = new_identity()
    folder = tmp_path / "vault"

    def making(disk: Disk) -> None:
        create_vault(folder, {"me": identity.recipient}, workspace=None, disk=disk)

    for at in killed_at_every_step(making, half=True):
        if (folder / "vault.json").exists():
            with open_vault(folder, identity) as vault:
                assert vault.rows() == (), at
        else:
            with pytest.raises(InputError, match="is no vault"):
                open_vault(folder, identity).__enter__()
            making(Disk())
        shutil.rmtree(folder)
