"""What is done to releases, by accident or on purpose: every one is found, and none is called authentic."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.release.conftest import Story
from tests.release.making import played, release
from tests.release.resigning import failed, faults, read, resigned, statement_of, verified, write
from tests.rotation.making import items

from lacre.registry import ledger as ledgers
from lacre.registry.events import KeyAdd, KeyRetire
from lacre.release.packing import write_tar
from lacre.release.verify import ENVELOPE, LEDGER, SUMS, Outcome, canonical, tar_header, verify
from lacre.sealing.keyring import replace
from lacre.sealing.keys import SigningKey, key_from

COMMITMENTS = "registry/exemplo/private/commitments.jsonl"
OPENINGS = "registry/exemplo/rounds/0001/openings.jsonl"
DRAW = "registry/exemplo/rounds/0001/draw.json"
Files = dict[str, bytes]


def flipped(files: Files, name: str, place: int, mask: int) -> Files:
    content = bytearray(files[name])
    content[place] ^= mask
    return {**files, name: bytes(content)}


def unseen(files: Files, name: str, places: range | list[int], seed: str) -> list[int]:
    """The places of a file at which a changed byte is not found."""
    random_ = random.Random(seed)
    return [
        place
        for place in places
        if verified(flipped(files, name, place, random_.randrange(1, 256))).verdict != "failed"
    ]


@pytest.mark.untraced
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", [SUMS, ENVELOPE, LEDGER, COMMITMENTS, OPENINGS])
def test_a_changed_byte_of_what_holds_a_release_together_is_found(story: Story, name: str) -> None:
    files = story.small(2)
    assert verified(files).verdict == "integrity only"
    # Every 7th byte, and all of them in the slow test: a stride that is prime to every line's length.
    assert unseen(files, name, range(0, len(files[name]), 7), name) == []


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", [SUMS, ENVELOPE, LEDGER, COMMITMENTS, OPENINGS])
def test_every_changed_byte_of_what_holds_a_release_together_is_found(story: Story, name: str) -> None:
    files = story.small(2)
    assert unseen(files, name, range(len(files[name])), f"all of {name}") == []


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_two_thousand_changed_bytes_anywhere_else_are_found(story: Story) -> None:
    files = story.small(2)
    others = sorted(set(files) - {SUMS, ENVELOPE, LEDGER, COMMITMENTS, OPENINGS})
    random_ = random.Random("elsewhere")
    names = random_.choices(others, weights=[len(files[name]) for name in others], k=2000)
    for name in sorted(set(names)):
        places = [random_.randrange(len(files[name])) for _ in range(names.count(name))]
        assert unseen(files, name, places, name) == [], name


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", [LEDGER, COMMITMENTS, OPENINGS, DRAW])
def test_a_changed_byte_that_the_key_holder_lists_and_signs_anew_is_found_too(
    story: Story, name: str
) -> None:
    files = story.small(2)
    random_ = random.Random(name)
    canary = [b"canary"]
    for _ in range(150):
        place = random_.randrange(len(files[name]))
        changed = flipped(files, name, place, random_.randrange(1, 256))
        outcome = verified(resigned(changed, story.play.key))
        # What the release itself added to an opening, its canary, is no part of what was committed to.
        line = files[name][files[name].rfind(b"\n", 0, place) + 1 : place]
        in_canary = canary[0] in line and b'"cell"' not in line
        assert outcome.verdict == "failed" or in_canary, (name, place)


@pytest.mark.usefixtures("quick")
def test_changed_bytes_of_a_tar_are_found(story: Story, tmp_path: Path) -> None:
    small = write(story.small(2), tmp_path / "exemplo-2")
    tar = tmp_path / "exemplo-2.tar"
    write_tar(small, tar)
    whole, random_ = tar.read_bytes(), random.Random("tar")
    assert verify(tar).verdict == "integrity only"
    other = tmp_path / "other.tar"
    for _ in range(200):
        place = random_.randrange(len(whole))
        other.write_bytes(
            whole[:place] + bytes([whole[place] ^ random_.randrange(1, 256)]) + whole[place + 1 :]
        )
        assert verify(other).verdict == "failed", place


@pytest.fixture
def folder(story: Story, tmp_path: Path) -> Path:
    """A copy of the second release."""
    return write(story.small(2), tmp_path / "exemplo-2")


def rename(folder: Path) -> None:
    (folder / "README.md").rename(folder / "README2.md")


def swap(folder: Path) -> None:
    a, b = folder / "README.md", folder / "dictionary.md"
    first = a.read_bytes()
    a.write_bytes(b.read_bytes())
    b.write_bytes(first)


def add(folder: Path) -> None:
    (folder / "data/exemplo/more.jsonl").write_bytes(b"{}\n")


def add_empty(folder: Path) -> None:
    (folder / "data/nothing").touch()


def add_empty_folder(folder: Path) -> None:
    (folder / "data/void").mkdir()


def remove(folder: Path) -> None:
    (folder / "data/exemplo/open.jsonl").unlink()


def truncate(folder: Path) -> None:
    (folder / "data/exemplo/open.jsonl").write_bytes(b"")


def link(folder: Path) -> None:
    (folder / "data/exemplo/open.jsonl").unlink()
    (folder / "data/exemplo/open.jsonl").symlink_to(folder / "data/exemplo/official.jsonl")


def link_folder(folder: Path) -> None:
    shutil.move(folder / "data", folder.parent / "data")
    (folder / "data").symlink_to(folder.parent / "data")


def pipe(folder: Path) -> None:
    os.mkfifo(folder / "pipe")


def same_but_case(folder: Path) -> None:
    (folder / "readme.MD").write_bytes(b"x")


def folders_but_case(folder: Path) -> None:
    (folder / "Data").mkdir()
    (folder / "Data/x").write_bytes(b"x")


def decomposed(folder: Path) -> None:
    (folder / "data/a\u0303.txt").write_bytes(b"x")


def undecodable(folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff")).write_bytes(b"x")


def carriage_returns(folder: Path) -> None:
    (folder / SUMS).write_bytes((folder / SUMS).read_bytes().replace(b"\n", b"\r\n"))


def byte_order_mark(folder: Path) -> None:
    (folder / SUMS).write_bytes(b"\xef\xbb\xbf" + (folder / SUMS).read_bytes())


def escape(folder: Path) -> None:
    sums = (folder / SUMS).read_bytes()
    (folder / SUMS).write_bytes(b"0" * 64 + b"  ../secret\n" + sums)


def sparse(folder: Path) -> None:
    with (folder / "README.md").open("wb") as file:
        file.truncate(5 << 30)


def sparse_extra(folder: Path) -> None:
    with (folder / "big").open("wb") as file:
        file.truncate(5 << 30)


def no_envelope(folder: Path) -> None:
    (folder / ENVELOPE).unlink()


def no_sums(folder: Path) -> None:
    (folder / SUMS).unlink()


def huge_envelope(folder: Path) -> None:
    with (folder / ENVELOPE).open("wb") as file:
        file.truncate(1 << 30)


NAMED: list[tuple[Callable[[Path], None], str, str]] = [
    (rename, "manifest", "README.md: is missing"),
    (rename, "manifest", "README2.md: is not in SHA256SUMS"),
    (swap, "files", "README.md: is not the file that SHA256SUMS lists"),
    (add, "manifest", "data/exemplo/more.jsonl: is not in SHA256SUMS"),
    (add_empty, "manifest", "data/nothing: is not in SHA256SUMS"),
    (add_empty_folder, "names", "data/void: is an empty folder"),
    (remove, "manifest", "data/exemplo/open.jsonl: is missing"),
    (truncate, "files", "data/exemplo/open.jsonl: is not the file"),
    (link, "names", "data/exemplo/open.jsonl: is a symbolic link"),
    (link_folder, "names", "data: is a symbolic link"),
    (pipe, "names", "pipe: is no ordinary file"),
    (same_but_case, "names", "'README.md' and 'readme.MD' differ in case only"),
    (folders_but_case, "names", "'Data' and 'data' differ in case only"),
    (decomposed, "names", "data/a\\u0303.txt: is not a plain name"),
    (undecodable, "names", "\\udcff: is not a plain name"),
    (carriage_returns, "manifest", "its lines end as on Windows"),
    (byte_order_mark, "manifest", "byte order mark"),
    (escape, "manifest", "'../secret' leads out of the release"),
    (sparse, "files", "README.md: is not the file"),
    (sparse_extra, "manifest", "big: is not in SHA256SUMS"),
    (no_envelope, "manifest", "release.dsse.json: is missing"),
    (no_sums, "manifest", "SHA256SUMS: is missing"),
    (huge_envelope, "manifest", "more than such a file can have"),
]


@pytest.mark.parametrize(("damage", "check", "says"), [pytest.param(*c, id=c[0].__name__) for c in NAMED])
def test_damage_is_named(folder: Path, damage: Callable[[Path], None], check: str, says: str) -> None:
    damage(folder)
    outcome = verify(folder)
    assert (outcome.verdict, outcome.exit_code) == ("failed", 3)
    assert check in failed(outcome)
    assert any(says in fault for fault in faults(outcome)), faults(outcome)


@pytest.mark.parametrize("keep", [0, 100, 511, 512, 5_000, -1, -512, -1024, -1025, -3000])
def test_a_truncated_tar_is_found(story: Story, tmp_path: Path, keep: int) -> None:
    whole = story.tar(2).read_bytes()
    cut = tmp_path / "cut.tar"
    cut.write_bytes(whole[:keep])
    outcome = verify(cut)
    assert outcome.verdict == "failed"
    assert "truncated" in faults(outcome)[0]


@pytest.mark.parametrize("more", [b"\0" * 512, b"x" * 512, b"\0"])
def test_bytes_after_the_end_of_a_tar_are_found(story: Story, tmp_path: Path, more: bytes) -> None:
    long = tmp_path / "long.tar"
    long.write_bytes(story.tar(2).read_bytes() + more)
    assert "follows the tar's end" in faults(verify(long))[0]


def packed(members: list[tuple[str, bytes]], path: Path) -> Outcome:
    content = b"".join(
        tar_header(name, len(body)) + body + b"\0" * (-len(body) % 512) for name, body in members
    )
    path.write_bytes(content + b"\0" * 1024)
    return verify(path)


@pytest.mark.parametrize(
    ("members", "says"),
    [
        ([("../x", b"x")], "leads out"),
        ([("/x", b"x")], "leads out"),
        ([("a/x", b"x"), ("a/x", b"y")], "comes twice"),
        ([("a/y", b"x"), ("a/x", b"y")], "out of order"),
        ([("a/x", b"x"), ("b/x", b"y")], "outside the release's folder"),
        ([("x", b"x")], "outside the release's folder"),
        ([("a/X", b"x"), ("a/x", b"y")], "differ in case only"),
    ],
)
def test_a_tar_with_names_that_no_release_has_is_refused_unread(
    tmp_path: Path, members: list[tuple[str, bytes]], says: str
) -> None:
    outcome = packed(members, tmp_path / "bad.tar")
    assert failed(outcome) == ["names"]
    assert any(says in fault for fault in faults(outcome))


def test_no_file_is_read_while_a_name_is_wrong(folder: Path) -> None:
    link(folder)
    (folder / SUMS).chmod(0)
    assert failed(verify(folder)) == ["names"]


def test_a_file_that_cannot_be_read_is_a_failure(folder: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    (folder / "README.md").chmod(0)
    assert "README.md: is not the file" in " ".join(faults(verify(folder)))


OTHER = key_from(bytes([9]) * 32)


def forged_ledger(content: bytes, key: SigningKey) -> bytes:
    """The ledger as another key would have written it: every line that was signed is signed by it."""
    old = ledgers.parse(content, "old")
    new = ledgers.Ledger((), b"")
    for line in old.lines:
        event = line.event
        if isinstance(event, KeyAdd):
            event = KeyAdd(fingerprint=key.fingerprint, key=key.public.text, name=event.name)
        new = ledgers.appended(new, [event], at=line.at, signer=key if line.sig else None)
    return new.content


def test_a_release_signed_anew_with_another_key_is_never_authentic(story: Story) -> None:
    files = story.small(2)
    assert "does not name" in faults(verified(resigned(files, OTHER)))[0]
    # The whole of it, as well as a stranger can: before any round, so that nothing else is signed inside.
    first = story.small(1)
    ledger = forged_ledger(first[LEDGER], OTHER)
    head = {"lines": ledger.count(b"\n"), "bytes": len(ledger), "head": ledgers.head(ledger)}
    forged = resigned({**first, LEDGER: ledger, "key.pem": OTHER.public.pem}, OTHER, ledger=head)
    assert verified(forged).verdict == "integrity only"
    mine = story.play.key.fingerprint
    outcome = verified(forged, key=mine)
    assert (outcome.verdict, failed(outcome)) == ("failed", ["key"])
    assert "which is not" in faults(outcome)[0]
    assert verified(first, key=mine).verdict == "authentic"


def test_a_forged_release_does_not_go_on_from_a_trusted_one(story: Story, tmp_path: Path) -> None:
    first = story.small(1)
    ledger = forged_ledger(first[LEDGER], OTHER)
    head = {"lines": ledger.count(b"\n"), "bytes": len(ledger), "head": ledgers.head(ledger)}
    forged = resigned({**first, LEDGER: ledger, "key.pem": OTHER.public.pem}, OTHER, ledger=head)
    outcome = verify(write(forged, tmp_path / "forged"), previous=[story.folder(1)])
    assert "history was rewritten" in faults(outcome)[0]


def test_an_older_ledger_under_a_newer_release_is_found(story: Story) -> None:
    files = {**story.small(2), LEDGER: story.small(1)[LEDGER]}
    assert verified(files).verdict == "failed"
    told = faults(verified(resigned(files, story.play.key)))
    assert any("was signed over" in fault for fault in told)


def test_a_ledger_that_grew_after_the_signature_is_found(story: Story) -> None:
    files = {**story.small(1), LEDGER: story.small(2)[LEDGER]}
    told = faults(verified(resigned(files, story.play.key)))
    assert told == [f"{LEDGER}: is not the one that was signed: lines were added"]


def test_an_old_release_in_place_of_a_new_one_is_found_by_who_has_a_newer(story: Story) -> None:
    outcome = verify(story.folder(1), previous=[story.folder(2)])
    assert failed(outcome) == ["previous"]
    assert "an old one was put in its place" in faults(outcome)[0]
    assert "next release is due" in verify(story.folder(1)).notes[0]


def test_a_release_goes_on_from_each_one_before_it_and_from_itself(story: Story) -> None:
    outcome = verify(story.tar(3), previous=[story.folder(1), story.tar(2), story.folder(3)])
    assert (outcome.verdict, outcome.exit_code) == ("authentic", 0)


def test_a_release_that_the_ledger_does_not_name_is_no_previous_one(story: Story, tmp_path: Path) -> None:
    again = resigned(read(story.folder(1)), story.play.key, at="2026-12-02T00:00:00Z")
    again["README.md"] += b"\n"
    other = write(resigned(again, story.play.key), tmp_path / "other")
    assert (
        "is no release that this one's ledger names" in faults(verify(story.folder(2), previous=[other]))[0]
    )
    (other / LEDGER).write_bytes(b"")
    assert "its ledger is not the one" in faults(verify(story.folder(2), previous=[other]))[0]
    (other / "x").symlink_to("y")
    assert "x: is a symbolic link" in faults(verify(story.folder(2), previous=[other]))[0]
    assert "no folder and no tar" in faults(verify(story.folder(2), previous=[tmp_path / "none"]))[0]


def test_a_retired_key_signs_no_release(tmp_path: Path) -> None:
    play = played(tmp_path)
    play.add(items(4), "b1")
    old, new = play.key, key_from(bytes([3]) * 32)
    replace(play.root / LEDGER, old, new, "equipe-2", at="2026-12-01T12:30:00Z")
    play.key = new
    built = release(play, "exemplo-1")
    files = resigned(read(Path(built.folder)), old)
    files = resigned({**files, "key.pem": old.public.pem}, old)
    assert "retired it on line 5" in faults(verified(files))[0]
    # The trust in a key passes to those that it let in.
    good = verify(built.folder, key=old.fingerprint.upper())
    assert good.verdict == "authentic"
    assert any("let in by the key that you trust" in check.says for check in good.checks)


def test_a_key_that_a_forger_retired_or_added_is_not_believed(story: Story) -> None:
    files = story.small(1)
    ledger = ledgers.parse(files[LEDGER], LEDGER)
    added = KeyAdd(fingerprint=OTHER.fingerprint, key=OTHER.public.text, name="eu")
    for event in (added, KeyRetire(fingerprint=story.play.key.fingerprint, reason="foi-se")):
        longer = ledgers.chained(ledger, [event], at=ledger.lines[-1].at, signer=OTHER)
        told = faults(verified(resigned({**files, LEDGER: longer.content}, story.play.key)))
        assert any("may not sign there" in fault for fault in told)


def test_another_key_file_is_found(story: Story) -> None:
    files = resigned({**story.small(1), "key.pem": OTHER.public.pem}, story.play.key)
    assert faults(verified(files)) == ["key.pem: is not the key that signed"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"previous": None}, "names another previous release"),
        ({"previous": {"release": "exemplo-0", "package": "0" * 64}}, "names another previous release"),
        ({"benchmarks": {}}, None),
        ({"ledger": {"lines": 10**6, "bytes": 1, "head": "0" * 64}}, "was signed over 1000000 lines"),
        ({"ledger": 1}, "is not the statement of a release"),
    ],
)
def test_a_statement_that_does_not_fit_its_files_is_found(
    story: Story, changes: dict[str, Any], says: str | None
) -> None:
    outcome = verified(resigned(story.small(2), story.play.key, **changes))
    if says is None:  # a release of fewer benchmarks than the ledger knows is a release
        assert outcome.verdict == "integrity only"
    else:
        assert says in faults(outcome)[0]


def edited(files: Files, name: str, change: Callable[[dict[str, Any]], object], line: int = 0) -> Files:
    """A line of a JSONL file, or of JSON, changed, in canonical form."""
    lines = files[name].splitlines()
    record = json.loads(lines[line])
    change(record)
    lines[line] = canonical(record)
    return {**files, name: b"".join(each + b"\n" for each in lines)}


INSIDER: list[tuple[str, str, Callable[[dict[str, Any]], object], str]] = [
    ("a row relabelled", COMMITMENTS, lambda row: row.update(cell={"area": "x"}), "are not the"),
    ("a row of another batch", COMMITMENTS, lambda row: row.update(batch="b9"), "the ledger does not know"),
    ("a row's commitment", COMMITMENTS, lambda row: row.update(commitment="0" * 64), "are not the"),
    (
        "an opening's text",
        OPENINGS,
        lambda each: each.update(payload={"stem": "?"}),
        "is not the file that line",
    ),
    ("an opening's reason", OPENINGS, lambda each: each.update(why="leak"), "is not the file that line"),
    ("a row without batch", COMMITMENTS, lambda row: row.pop("batch"), "is no row"),
    ("an opening without nonce", OPENINGS, lambda each: each.pop("nonce"), "is no opening"),
    ("the draw's seed", DRAW, lambda draw: draw.update(seed="0" * 64), "its seed is not what the draw gives"),
    (
        "an earlier list",
        "previous/exemplo-1/commitments/exemplo.jsonl",
        lambda row: row.update(batch="b9"),
        "is not the list of release exemplo-1",
    ),
    (
        "an open item",
        "registry/exemplo/open/closing-0001.jsonl",
        lambda item: item.update(payload={"stem": "?"}),
        "is missing, or not the one that was opened",
    ),
]


@pytest.mark.parametrize(("name", "change", "says"), [pytest.param(*c[1:], id=c[0]) for c in INSIDER])
def test_what_the_key_holder_changes_and_signs_anew_is_found(
    story: Story, name: str, change: Callable[[dict[str, Any]], object], says: str
) -> None:
    outcome = verified(resigned(edited(story.small(2), name, change), story.play.key))
    assert outcome.verdict == "failed"
    assert any(says in fault for fault in faults(outcome)), faults(outcome)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        (COMMITMENTS, b"", "are not the"),
        (COMMITMENTS, b"{}", "torn"),
        (LEDGER, b"", "is empty"),
        (LEDGER, b"{}", "torn"),
        (LEDGER, b"{}\n", "is no line of a ledger"),
        ("registry/exemplo/open/closing-0001.jsonl", b"[]\n", "holds something else than items"),
        ("registry/exemplo/rounds/0001/randomness.json", b"{}\n", "does not hold the randomness"),
        ("previous/exemplo-1/SHA256SUMS", b"", "is empty, unsorted or torn"),
        ("previous/exemplo-7/SHA256SUMS", b"", "is a release that the ledger does not name"),
    ],
)
def test_a_file_replaced_and_signed_anew_is_found(story: Story, name: str, content: bytes, says: str) -> None:
    outcome = verified(resigned({**story.small(2), name: content}, story.play.key))
    assert any(says in fault for fault in faults(outcome)), faults(outcome)


@pytest.mark.parametrize(
    "name",
    [
        "previous/exemplo-1/SHA256SUMS",
        "previous/exemplo-1/release.dsse.json",
        "previous/exemplo-1/commitments/exemplo.jsonl",
        "registry/exemplo/rounds/0001/freeze.dsse.json",
        OPENINGS,
        "registry/exemplo/open/closing-0001.jsonl",
        COMMITMENTS,
        "key.pem",
        LEDGER,
    ],
)
def test_a_release_cannot_leave_out_what_the_ledger_names(story: Story, name: str) -> None:
    assert verified(resigned(story.small(2), story.play.key, without=[name])).verdict == "failed"


def test_an_earlier_release_signed_by_its_key_but_not_the_one_named_is_found(story: Story) -> None:
    files = story.small(2)
    again = resigned(story.small(1), story.play.key, at="2026-12-02T00:00:00Z")
    for name in (SUMS, ENVELOPE):
        files[f"previous/exemplo-1/{name}"] = again[name]
    told = faults(verified(resigned(files, story.play.key)))
    assert "is not the release that line" in told[0]


def test_the_statement_says_how_many_bytes_there_are(story: Story) -> None:
    files = story.small(1)
    said = statement_of(files)["package"]
    assert said == {
        "files": len(files) - 2,
        "bytes": sum(map(len, files.values())) - len(files[SUMS]) - len(files[ENVELOPE]),
    }
