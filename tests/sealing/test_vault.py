"""The vault: what goes in comes out, whatever is damaged is named, and nobody else reads it."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from tests.sealing.making import WORKSPACE, empty_vault, private

from lacre.errors import InputError, LacreError
from lacre.registry.items import Payload
from lacre.sealing.ages import BLOCK, new_identity
from lacre.sealing.commitments import commit, opens
from lacre.sealing.vault import create_vault, open_vault


def test_what_goes_in_comes_out_and_opens_its_commitment(tmp_path: Path) -> None:
    identity = empty_vault(tmp_path / "vault")
    items = [private("b"), private("a")]
    with open_vault(tmp_path / "vault", identity) as vault, vault.change() as change:
        added = change.add(items, "2026-1")
    assert [row.id for row in added.rows] == ["a", "b"]
    with open_vault(tmp_path / "vault", identity, workspace=WORKSPACE) as vault:
        assert [sealed.item for sealed in vault.items()] == [items[1], items[0]]
        assert vault.rows("exemplo") == added.rows
        assert vault.rows("outro") == ()
        for row in added.rows:
            assert opens(vault.opening(row.id), row.commitment)
            assert commit(vault.sealed(row.id).item.payload, vault.nonce(row.id)) == row.commitment
            assert row.batch == "2026-1"


def test_only_the_owner_may_look(tmp_path: Path) -> None:
    identity = empty_vault(tmp_path / "vault")
    with open_vault(tmp_path / "vault", identity) as vault, vault.change() as change:
        change.add([private("a")], "1")
    for path in (tmp_path / "vault").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path


def test_sizes_tell_little(tmp_path: Path) -> None:
    identity = empty_vault(tmp_path / "vault")
    with open_vault(tmp_path / "vault", identity) as vault, vault.change() as change:
        change.add([private("a", stem="?"), private("b", stem="Por quê? " * 100)], "1")
    # age adds some random bytes of its own to the head.
    blocks = {path.stat().st_size // BLOCK for path in (tmp_path / "vault/items").iterdir()}
    assert blocks == {1}


def test_items_that_share_a_passage_share_a_group(tmp_path: Path) -> None:
    identity = empty_vault(tmp_path / "vault")
    text = "O rio desce a serra."
    with open_vault(tmp_path / "vault", identity) as vault:
        with vault.change() as change:
            change.add(
                [private("a", passage=text), private("b", passage="O  RIO desce a serra"), private("c")], "1"
            )
        with vault.change() as change:
            change.add([private("d", passage=text)], "2")
        assert [row.group for row in vault.rows()] == ["a", "a", None, "a"]


def test_adding_again_changes_nothing(tmp_path: Path) -> None:
    identity = empty_vault(tmp_path / "vault")
    before = None
    for _ in range(2):
        with open_vault(tmp_path / "vault", identity) as vault, vault.change() as change:
            added = change.add([private("a"), private("b")], "1")
        now = {path: path.read_bytes() for path in (tmp_path / "vault").rglob("*") if path.is_file()}
        assert before in (None, now)
        before = now
    assert added.rows == ()
    assert added.already == ("a", "b")


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (private("b", layer="open"), "is of the open layer"),
        (private("../b"), "no name for a file"),
        (private("b" * 121), "no name for a file"),
        (private("a", stem="Outra pergunta?"), "already, and not the same"),
        (private("A", stem="Outra pergunta?"), "only in case"),
        (private("z", payload=private("a").payload), "is the same as item 'a'"),
    ],
)
def test_an_item_that_cannot_be_added_is_named_and_nothing_is(
    item: object, said: str, tmp_path: Path
) -> None:
    identity = empty_vault(tmp_path / "vault")
    with open_vault(tmp_path / "vault", identity) as vault:
        with vault.change() as change:
            change.add([private("a")], "1")
        with pytest.raises(LacreError, match=said), vault.change() as change:
            change.add([private("c"), item], "2")  # type: ignore[list-item]
        assert [row.id for row in vault.rows()] == ["a"]
        assert list((tmp_path / "vault/journal").iterdir()) == []
        assert [path.name for path in (tmp_path / "vault/items").iterdir()] == ["a.age"]


def test_a_change_replaces_and_removes_and_keeps_documents(tmp_path: Path) -> None:
    identity = empty_vault(tmp_path / "vault")
    with open_vault(tmp_path / "vault", identity) as vault:
        with vault.change() as change:
            change.add([private("a"), private("b")], "1")
            change.keep("vetting/findings", b"one")
        moved = private("a", cell={"area": "direito", "difficulty": "dificil"})
        before = vault.entry("a").row
        with vault.change() as change:
            row = change.replace(moved)
            change.remove("b")
            change.keep("vetting/findings", b"\x00two")
            change.keep("runs", b"")
        assert vault.rows() == (row,)
        assert (row.commitment, row.batch) == (before.commitment, before.batch)
        assert vault.sealed("a").item == moved
        assert vault.documents() == ("runs", "vetting/findings")
        assert vault.document("vetting/findings") == b"\x00two"
        assert vault.document("other") is None
        with vault.change() as change:
            change.forget("runs")
        assert vault.documents() == ("vetting/findings",)
        assert len(list((tmp_path / "vault/documents").iterdir())) == 1
    assert not (tmp_path / "vault/items/b.age").exists()


def test_a_committed_payload_cannot_change(tmp_path: Path) -> None:
    identity = empty_vault(tmp_path / "vault")
    with open_vault(tmp_path / "vault", identity) as vault:
        with vault.change() as change:
            change.add([private("a")], "1")
        other = private("a", payload=Payload(kind="open", stem="?", key="!"))
        with pytest.raises(InputError, match="its payload is committed"), vault.change() as change:
            change.replace(other)


def test_public_files_appear_with_the_change(tmp_path: Path) -> None:
    identity = empty_vault(tmp_path / "vault")
    root = tmp_path / "workspace"
    (root / "registry").mkdir(parents=True)
    with open_vault(tmp_path / "vault", identity) as vault:
        with vault.change(root) as change:
            change.add([private("a")], "1")
            change.publish("registry/exemplo/rows.jsonl", b"one\n")
            assert change.published("registry/exemplo/rows.jsonl") == b"one\n"
            assert not (root / "registry/exemplo").exists()
        assert (root / "registry/exemplo/rows.jsonl").read_bytes() == b"one\n"
        with pytest.raises(ZeroDivisionError), vault.change(root) as change:  # noqa: PT012
            change.publish("registry/exemplo/rows.jsonl", b"two\n")
            change.remove("a")
            raise ZeroDivisionError
        assert vault.holds("a")
        assert (root / "registry/exemplo/rows.jsonl").read_bytes() == b"one\n"
        with (  # noqa: PT012
            pytest.raises(InputError, match="another process wrote it meanwhile"),
            vault.change(root) as change,
        ):
            change.publish("registry/exemplo/rows.jsonl", b"two\n")
            (root / "registry/exemplo/rows.jsonl").write_bytes(b"else\n")
        ledger = root / "registry/ledger.jsonl"
        ledger.write_bytes(b"one\nof another process\n")
        with (
            pytest.raises(InputError, match="another process wrote it meanwhile"),
            vault.change(root) as change,
        ):
            change.publish("registry/ledger.jsonl", b"one\ntwo\n")
        assert ledger.read_bytes() == b"one\nof another process\n"
        assert not any(vault.journal.folder.iterdir())
        for place in ("/etc/passwd", "../x", ""):
            with pytest.raises(ValueError, match="no place"), vault.change(root) as change:
                change.publish(place, b"")


def test_a_rekeyed_vault_opens_for_its_new_readers_only(tmp_path: Path) -> None:
    old = empty_vault(tmp_path / "vault")
    new, third = new_identity(), new_identity()
    with open_vault(tmp_path / "vault", old) as vault:
        with vault.change() as change:
            change.add([private("a")], "1")
            change.keep("notes", b"kept")
        rows = vault.rows()
        with vault.change() as change:
            change.rekey({"operator": new.recipient, "custodian": third.recipient})
            change.add([private("b")], "2")
    for identity in (new, third):
        with open_vault(tmp_path / "vault", identity) as vault:
            assert vault.rows()[:1] == rows
            assert [sealed.item.id for sealed in vault.items()] == ["a", "b"]
            assert vault.document("notes") == b"kept"
    with pytest.raises(InputError, match="does not open with this identity"):
        open_vault(tmp_path / "vault", old).__enter__()


def test_a_vault_is_refused_inside_a_git_work_tree(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    with pytest.raises(InputError, match="inside the git work tree"):
        create_vault(tmp_path / "deep/vault", {"me": new_identity().recipient}, workspace=None)
    assert not (tmp_path / "deep").exists()


def test_a_vault_over_which_git_came_is_refused(tmp_path: Path) -> None:
    identity = empty_vault(tmp_path / "vault")
    (tmp_path / ".git").write_text("gitdir: elsewhere")
    with pytest.raises(InputError, match="inside the git work tree"):
        open_vault(tmp_path / "vault", identity).__enter__()


def test_what_one_change_adds_and_takes_out_again_leaves_nothing(tmp_path: Path) -> None:
    identity = empty_vault(tmp_path / "vault")
    with open_vault(tmp_path / "vault", identity) as vault, vault.change() as change:
        change.add([private("a"), private("b")], "1")
        change.remove("a")
    with open_vault(tmp_path / "vault", identity) as vault:
        assert vault.recovered.what == "nothing"
        assert [row.id for row in vault.rows()] == ["b"]


def test_many_items_are_sealed_together(tmp_path: Path) -> None:
    identity = empty_vault(tmp_path / "vault")
    items = [private(f"p-{n:03d}") for n in range(300)]
    with open_vault(tmp_path / "vault", identity) as vault, vault.change() as change:
        change.add(items, "1")
        change.remove("p-000")
    with open_vault(tmp_path / "vault", identity) as vault:
        assert [sealed.item for sealed in vault.items()] == items[1:]
        assert vault.recovered.what == "nothing"
