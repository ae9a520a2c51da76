"""Building: what goes in, what stops it, the same bytes everywhere, all or nothing."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.release.conftest import Story
from tests.release.making import ABOUT, EXAM, passed, played, public_items, release
from tests.release.resigning import read
from tests.rotation.making import Stage, files, items
from tests.untraced import untraced

import lacre
from lacre import jsonl
from lacre.digest import sha256
from lacre.errors import IncompleteError, InputError, IntegrityError, LacreError
from lacre.registry import ledger as ledgers
from lacre.registry.events import Incident
from lacre.registry.items import Change, Image, Source
from lacre.registry.workspace import Workspace
from lacre.release.build import build
from lacre.release.contents import Contents
from lacre.release.describe import Order
from lacre.release.manifests import releases
from lacre.release.verify import LEDGER, SUMS, verify
from lacre.sealing.keys import key_from


@pytest.fixture
def play(tmp_path: Path) -> Stage:
    stage = played(tmp_path)
    stage.add(items(6), "b1")
    return stage


def order(play: Stage, name: str = "r1", **changes: object) -> Order:
    values: dict[str, object] = {
        "name": name,
        "benchmarks": ("exemplo",),
        "out": play.root.parent / "releases",
        "at": play.now + timedelta(hours=1),
    }
    return Order(**(values | changes))  # type: ignore[arg-type]


def test_a_release_holds_what_the_workspace_publishes_and_nothing_else(play: Stage) -> None:
    (play.registry / "exemplo/notes.txt").write_text("rascunho", encoding="utf-8")
    (play.registry / "exemplo/guide").mkdir()
    (play.registry / "exemplo/guide/reviewers.md").write_text("# Guia\n", encoding="utf-8")
    built = release(play, "r1", program=None)
    names = {name for name in files(Path(built.folder)) if not name.startswith("code/")}
    assert {
        "README.md", "LICENSE-official.txt", "LICENSE-open.txt", "LICENSE-code.txt", "dictionary.md", "code.json",
        "croissant.json", "key.pem", "verify.py", ".gitattributes", "SHA256SUMS", "release.dsse.json",
        "CANARY-00000000-0000-0000-0000-000000000007.txt", "data/exemplo/official.jsonl", "data/exemplo/open.jsonl",
        "registry/ledger.jsonl", "registry/rules.toml", "registry/exams.jsonl",
        "registry/exemplo/private/commitments.jsonl", "registry/exemplo/guide/reviewers.md",
        "registry/exemplo/official/items.jsonl", "registry/exemplo/open/items.jsonl",
        "registry/templates/choice.txt", "registry/templates/open.txt", "registry/templates/part.txt",
    } <= names  # fmt: skip
    assert "registry/exemplo/notes.txt" in built.left_out
    assert not any("notes" in name or "release.toml" in name for name in names)
    with tarfile.open(Path(built.folder) / "code/lacre-0.1.0.tar") as tar:
        assert "lacre-0.1.0/lacre/engine/runs.py" in tar.getnames()


def test_every_public_file_holds_the_canary_but_those_that_cannot(story: Story) -> None:
    found = read(story.folder(3))
    without = {
        name for name, content in found.items() if b"00000000-0000-0000-0000-000000000007" not in content
    }
    assert {name for name in without if not name.startswith(("code/", "previous/", "registry/templates/"))} == {
        "release.dsse.json", "key.pem", "verify.py", "registry/ledger.jsonl",
        "registry/exemplo/private/commitments.jsonl",
        *(
            f"registry/exemplo/rounds/{number}/{name}"
            for number, names in (
                ("0001", ("freeze.dsse.json", "draw.json", "randomness.json")),
                ("0002", ("freeze.dsse.json", "draw.json", "randomness.json")),
                ("0003", ("freeze.dsse.json",)),
            )
            for name in names
        ),
        # Frozen with their hashes: they go out as they are.
        *(name for name in without if name.endswith((".toml", "boilerplate.txt", "corpora.jsonl"))),
    }  # fmt: skip
    for name in ("data/exemplo/open.jsonl", "registry/exemplo/rounds/0002/openings.jsonl"):
        assert all(b'"canary"' in line for line in found[name].splitlines())


def test_the_same_workspace_gives_the_same_bytes_in_any_folder_time_zone_and_language(
    play: Stage, tmp_path: Path
) -> None:
    program = (
        "import sys; from datetime import datetime; from pathlib import Path;"
        "from tests.release.making import passed; from lacre.release.build import build;"
        "from lacre.release.describe import Order; from lacre.sealing.keys import key_from;"
        "root = Path(sys.argv[1]);"
        "print(build(root, Order(name='r1', benchmarks=('exemplo',), out=root / 'out',"
        " at=datetime.fromisoformat('2026-12-01T13:00:00+00:00')), key_from(bytes(32)), passed).package)"
    )
    packages, tars = set(), set()
    for zone, language, number in (("UTC", "C", "0"), ("Pacific/Kiritimati", "pt_BR.UTF-8", "7")):
        root = Path(shutil.copytree(play.root, tmp_path / f"copy-{number}" / "deep" / number))
        done = subprocess.run(
            [sys.executable, "-c", program, str(root)],
            env={
                **untraced(),
                "TZ": zone,
                "LC_ALL": language,
                "PYTHONHASHSEED": number,
                "PYTHONPATH": still(tmp_path / "program"),
            },
            capture_output=True,
            text=True,
            check=True,
        )
        packages.add(done.stdout)
        tars.add((root / "out/r1.tar").read_bytes())
    assert len(packages) == len(tars) == 1


def test_the_release_is_the_next_line_of_the_ledger(play: Stage) -> None:
    before = ledgers.read(play.root / LEDGER)
    built = release(play, "r1")
    after = ledgers.read(play.root / LEDGER)
    assert after.content.startswith(before.content)
    assert (Path(built.folder) / LEDGER).read_bytes() == before.content
    assert after.size == before.size + 1
    assert releases(after) == {"r1": built.package}
    kept = files(play.root / "manifests/r1")
    assert sorted(kept) == ["SHA256SUMS", "commitments/exemplo.jsonl", "guard.json", "release.dsse.json"]
    assert json.loads(kept["guard.json"])["package"] == built.package


def broken_official(play: Stage) -> str:
    official, _ = public_items()
    item = msgspec.structs.replace(official[0], source=Source(exam="sem-exame", number="1"))
    jsonl.write(play.registry / "exemplo/official/items.jsonl", [item])
    return "exam 'sem-exame' is not in exams.jsonl"


def without_key_date(play: Stage) -> str:
    jsonl.write(
        play.registry / "exams.jsonl", [msgspec.structs.replace(EXAM, key_date=None, key_precision=None)]
    )
    return "has no final key yet"


def without_booklet(play: Stage) -> str:
    jsonl.write(play.registry / "exams.jsonl", [msgspec.structs.replace(EXAM, booklet_url="")])
    return "booklet_url is not a web address"


def two_faults(play: Stage) -> str:
    official, opened = public_items()
    official = [msgspec.structs.replace(official[0], source=Source(number="1"))]
    opened = [msgspec.structs.replace(opened[0], source=Source())]
    jsonl.write(play.registry / "exemplo/official/items.jsonl", official)
    jsonl.write(play.registry / "exemplo/open/items.jsonl", opened)
    return "an official item names no exam"


def missing_image(play: Stage) -> str:
    _, opened = public_items()
    payload = msgspec.structs.replace(opened[0].payload, images=(Image(file="fig.png", sha256="0" * 64),))
    jsonl.write(
        play.registry / "exemplo/open/items.jsonl", [msgspec.structs.replace(opened[0], payload=payload)]
    )
    return "image 'fig.png' is not there"


def other_image(play: Stage) -> str:
    missing_image(play)
    (play.registry / "exemplo/open/fig.png").write_bytes(b"x")
    return "image 'fig.png' is not the one of the item"


def bad_name(play: Stage) -> str:
    (play.registry / "exemplo/guide").mkdir()
    (play.registry / "exemplo/guide/revisão.md").write_text("x", encoding="utf-8")
    return "is not a plain name"


def no_canary(play: Stage) -> str:
    (play.root / "canary/canary.toml").unlink()
    return "there is no canary"


def no_about(play: Stage) -> str:
    (play.registry / "release.toml").unlink()
    return "is missing. Write publisher"


def empty_about(play: Stage) -> str:
    text = ABOUT.replace("Write to the address below, and say what you want to run.", "").replace(
        "https", "ftp"
    )
    (play.registry / "release.toml").write_text(text, encoding="utf-8")
    return "access is empty"


def wrong_about(play: Stage) -> str:
    (play.registry / "release.toml").write_text("publisher = 1\n", encoding="utf-8")
    return "release.toml"


@pytest.mark.parametrize(
    "harm",
    [
        broken_official, without_key_date, without_booklet, two_faults, missing_image, other_image, bad_name, no_canary,
        no_about, empty_about, wrong_about,
    ],
    ids=lambda harm: harm.__name__,
)  # fmt: skip
def test_a_build_stops_with_all_that_is_wrong_and_leaves_nothing(
    play: Stage, harm: Callable[[Stage], str]
) -> None:
    says = harm(play)
    before = files(play.root)
    with pytest.raises(LacreError, match=says.replace("'", ".")) as caught:
        release(play, "r1")
    if harm is two_faults:
        assert "its licence is not CC BY 4.0" in str(caught.value)
    assert files(play.root) == before
    assert list((play.root.parent / "releases").iterdir()) == []


def test_who_worked_on_an_item_stays_at_home(play: Stage) -> None:
    _, opened = public_items()
    changes = (
        Change(when="2026-01-31", who="Ana Revisora", what="vírgula"),
        Change(when="2026-02-01", who="closing x/1", what="opened"),
    )
    jsonl.write(
        play.registry / "exemplo/open/items.jsonl", [msgspec.structs.replace(opened[0], history=changes)]
    )
    found = read(Path(release(play, "r1").folder))
    assert not any(b"Ana Revisora" in content for content in found.values())
    assert json.loads(found["registry/exemplo/open/items.jsonl"])["history"][0]["what"] == "opened"


def test_images_go_out_as_they_are(play: Stage) -> None:
    missing_image(play)
    content = b"\x89PNG\r\n\x1a\n not much of one"
    _, opened = public_items()
    payload = msgspec.structs.replace(
        opened[0].payload, images=(Image(file="fig.png", sha256=sha256(content)),)
    )
    (play.registry / "exemplo/open/fig.png").write_bytes(content)
    jsonl.write(
        play.registry / "exemplo/open/items.jsonl", [msgspec.structs.replace(opened[0], payload=payload)]
    )
    built = release(play, "r1")
    assert (Path(built.folder) / "registry/exemplo/open/fig.png").read_bytes() == content


@pytest.mark.parametrize("name", ["a b", "../r1", "é", "", ".", "a/b", "-x"])
def test_a_release_has_a_plain_name(play: Stage, name: str) -> None:
    with pytest.raises(InputError, match="is not a plain name"):
        release(play, name)


def test_a_name_is_used_once(play: Stage) -> None:
    release(play, "r1")
    with pytest.raises(InputError, match="was made before"):
        release(play, "r1")


def test_what_stands_in_the_way_is_not_written_over(play: Stage) -> None:
    place = play.root.parent / "releases/r1"
    place.mkdir(parents=True)
    (place / "mine.txt").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match="is there already, and is not this release"):
        release(play, "r1")
    assert files(place) == {"mine.txt": b"x"}


def test_a_key_that_the_ledger_does_not_know_signs_nothing(play: Stage) -> None:
    with pytest.raises(InputError, match="may not sign in this ledger"):
        build(play.root, order(play), key_from(bytes([9]) * 32), passed)


def test_a_workspace_without_ledger_releases_nothing(play: Stage) -> None:
    (play.root / LEDGER).unlink()
    with pytest.raises(InputError, match="has no line yet"):
        build(play.root, order(play), play.key, passed)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"at": datetime(2020, 1, 1, tzinfo=UTC)}, "is before the ledger's last line"),
        ({"next_due": datetime(2020, 1, 1, tzinfo=UTC)}, "is not after the release itself"),
    ],
)
def test_times_go_forward(play: Stage, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        build(play.root, order(play, **changes), play.key, passed)


def test_a_guard_that_finds_something_stops_it_all(play: Stage) -> None:
    def finds(folder: Path, contents: Contents) -> int:
        assert (folder / "README.md").is_file()
        raise LacreError("registry/templates/choice.txt: item 'p0001'.")

    before = files(play.root)
    with pytest.raises(LacreError, match="p0001"):
        build(play.root, order(play), play.key, finds)
    assert files(play.root) == before
    assert list((play.root.parent / "releases").iterdir()) == []


def test_a_file_that_cannot_hold_the_canary_is_refused_after_the_guard(play: Stage) -> None:
    (play.root / "t.zip").write_bytes(b"PK")
    with pytest.raises(LacreError, match=r"results/t\.zip: no place for a canary"):
        release(play, "r1", results=(play.root / "t.zip",))


def test_a_ledger_that_grows_meanwhile_stops_it(play: Stage) -> None:
    def slow(folder: Path, contents: Contents) -> int:
        ledgers.append(play.root / LEDGER, Incident(what="luz caiu"), at="2026-12-01T12:30:00Z")
        return 0

    with pytest.raises(IncompleteError, match="grew while the release was built"):
        build(play.root, order(play), play.key, slow)
    assert list((play.root.parent / "releases").iterdir()) == []


def test_what_would_not_verify_is_not_made(play: Stage) -> None:
    path = play.registry / "exemplo/private/commitments.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))
    with pytest.raises(IntegrityError, match="Run `lacre round audit`"):
        release(play, "r1")
    assert not (play.root / "manifests").exists()


def test_an_earlier_release_must_be_what_the_ledger_names(play: Stage) -> None:
    release(play, "r1")
    sums = play.root / "manifests/r1" / SUMS
    sums.write_bytes(sums.read_bytes() + b"x")
    with pytest.raises(IntegrityError, match="is not the one that the ledger names"):
        release(play, "r2")


def run_folder(play: Stage, item: str) -> Path:
    folder = play.root / "runs/primeira"
    folder.mkdir(parents=True)
    (folder / "run.json").write_text('{"id": "primeira"}\n', encoding="utf-8")
    lines = [
        {"type": "reply", "item": "ab-1", "reply": {"text": "B"}},
        {"type": "reply", "item": item},
        {"type": "halt"},
    ]
    jsonl.write(folder / "journal.jsonl", lines)
    (folder / "scratch.tmp").write_text("x", encoding="utf-8")
    return folder


def test_raw_answers_to_public_items_and_results_go_in(play: Stage) -> None:
    folder = run_folder(play, "of-1")
    (play.root / "tabelas").mkdir()
    (play.root / "tabelas/acerto.csv").write_text("column,accuracy\nalfa,0.5\n", encoding="utf-8")
    (play.root / "nota.md").write_text("# Nota\n", encoding="utf-8")
    built = release(play, "r1", runs=(folder,), results=(play.root / "tabelas", play.root / "nota.md"))
    names = set(files(Path(built.folder)))
    assert {
        "runs/primeira/run.json",
        "runs/primeira/journal.jsonl",
        "results/tabelas/acerto.csv",
        "results/nota.md",
    } <= names
    assert "runs/primeira/scratch.tmp" in built.left_out
    assert "`runs/primeira`" in (Path(built.folder) / "README.md").read_text(encoding="utf-8")


def test_a_run_on_items_that_are_not_public_is_never_released(play: Stage) -> None:
    folder = run_folder(play, "p0001")
    with pytest.raises(LacreError, match="item 'p0001' is no public item of the release"):
        release(play, "r1", runs=(folder,))
    (folder / "journal.jsonl").write_bytes(b"{\n")
    with pytest.raises(LacreError, match="is no line of a run"):
        release(play, "r1", runs=(folder,))
    with pytest.raises(InputError, match="no such file or folder"):
        release(play, "r1", results=(play.root / "nada",))
    with pytest.raises(InputError, match="is no folder"):
        release(play, "r1", runs=(play.root / "nada",))


def test_several_benchmarks_go_into_one_release(play: Stage) -> None:
    ready_items = public_items()[1]
    other = play.registry / "outro"
    (other / "open").mkdir(parents=True)
    (other / "benchmark.toml").write_text('name = "outro"\ntitle = "Outro"\n', encoding="utf-8")
    (other / "matrix.toml").write_bytes((play.registry / "exemplo/matrix.toml").read_bytes())
    renamed = [msgspec.structs.replace(item, id=f"o-{item.id}", benchmark="outro") for item in ready_items]
    jsonl.write(other / "open/items.jsonl", renamed)
    built = release(play, "r1", benchmarks=("exemplo", "outro"))
    outcome = verify(built.folder)
    assert outcome.verdict == "integrity only"
    assert "data/outro/open.jsonl" in files(Path(built.folder))
    second = release(play, "r2", benchmarks=("exemplo", "outro"))
    assert verify(second.folder, previous=[built.folder]).verdict == "authentic"
    alone = release(play, "r3")
    assert verify(alone.folder, previous=[second.folder]).verdict == "authentic"


def test_a_benchmark_without_private_items_is_released_too(tmp_path: Path) -> None:
    play = played(tmp_path)
    built = release(play, "r1")
    assert verify(built.folder, key=built.key).verdict == "authentic"


KILLED = """
import json, os, sys
from datetime import datetime
from pathlib import Path
from tests.release.making import passed
from lacre.release.build import build
from lacre.release.describe import Order
from lacre.sealing.keys import key_from

calls = 0
def watch(event, arguments):
    # Every file that is opened for writing, made, renamed or removed below the workspace or the releases.
    global calls
    if event in ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "shutil.rmtree"):
        if event == "open" and not (isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")):
            return
        if str(root.parent) in str(arguments[0]):
            calls += 1
            if calls == limit:
                os.kill(os.getpid(), 9)

# Everything is imported once; each build has a process of its own, forked from this one.
for line in sys.stdin:
    place, limit = json.loads(line)
    root = Path(place)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            sys.addaudithook(watch)
            at = datetime.fromisoformat("2026-12-01T13:00:00+00:00")
            order = Order(name="r1", benchmarks=("exemplo",), out=root.parent / "releases", at=at)
            build(root, order, key_from(bytes(32)), passed)
            print(json.dumps([0, str(calls)]), flush=True)
            code = 0
        except BaseException as error:
            print(json.dumps([1, str(error)]), flush=True)
            code = 1
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code not in (0, 1):
        print(json.dumps([code, ""]), flush=True)
"""


def still(folder: Path) -> str:
    """A path for Python with a copy of the program, which nobody edits while the test runs."""
    if not folder.exists():
        shutil.copytree(
            Path(lacre.__file__).parent, folder / "lacre", ignore=shutil.ignore_patterns("__pycache__")
        )
    return f"{folder}:{Path.cwd()}"


@pytest.fixture
def killed(tmp_path: Path) -> Iterator[Callable[[Path, int], tuple[int, str]]]:
    """Builds in a process that is killed at its n-th step (0: never); how it ended, and its steps or its error."""
    # A copy of the program is not the program: coverage would measure nothing of it.
    with subprocess.Popen(
        [sys.executable, "-c", KILLED],
        env={**untraced(), "PYTHONPATH": still(tmp_path / "program")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        asked, told = process.stdin, process.stdout
        assert asked is not None
        assert told is not None

        def ended(root: Path, limit: int) -> tuple[int, str]:
            asked.write(json.dumps([str(root), limit]) + "\n")
            asked.flush()
            code, said = json.loads(told.readline())
            return code, said

        yield ended


@pytest.mark.slow
def test_killed_at_any_step_a_build_leaves_no_half_release_and_the_next_call_finishes(
    play: Stage, tmp_path: Path, killed: Callable[[Path, int], tuple[int, str]]
) -> None:
    whole = tmp_path / "whole"
    shutil.copytree(play.root, whole / "workspace")
    code, said = killed(whole / "workspace", 0)
    assert code == 0, said
    steps = int(said)
    expected = files(whole)
    # All of the last steps, where things appear; some of those before, which only write the draft.
    for limit in sorted({1, 2, steps // 3, steps // 2, *range(steps - 16, steps + 1)}):
        home = tmp_path / f"at-{limit}"
        shutil.copytree(play.root, home / "workspace")
        assert killed(home / "workspace", limit)[0] == -9
        there = home / "releases/r1"
        assert not there.exists() or verify(there, key=play.key.fingerprint).verdict == "authentic", limit
        named = releases(ledgers.read(home / "workspace" / LEDGER))
        assert not named or there.exists()
        code, said = killed(home / "workspace", 0)
        assert code == 0 or "was made before" in said, said
        assert files(home) == expected, limit


def test_a_build_that_was_cut_short_is_finished(play: Stage) -> None:
    built = release(play, "r1")
    ledger = ledgers.read(play.root / LEDGER)
    # As if killed before the tar, the manifest and the ledger's line.
    (play.root / LEDGER).write_bytes(b"".join(ledger.content.splitlines(keepends=True)[:-1]))
    shutil.rmtree(play.root / "manifests")
    Path(built.tar).unlink()
    again = release(play, "r1")
    assert (again.finished, again.package) == (True, built.package)
    assert ledgers.read(play.root / LEDGER).content == ledger.content
    assert verify(again.tar).verdict == "integrity only"


def test_a_workspace_of_a_release_is_a_workspace(story: Story) -> None:
    workspace = Workspace.find(story.folder(3) / "registry")
    found = workspace.items("exemplo")
    assert {item.id for item in found} >= {"of-1", "ab-1", "ab-2"}
    assert all(item.canary for item in found)
