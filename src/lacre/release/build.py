"""Building a release: gathered, marked, guarded, listed, signed, verified, and only then there (SPEC L22)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from importlib.resources import files as package_files
from pathlib import Path

import msgspec

import lacre
from lacre import jsonl
from lacre.digest import sha256, sha256_file
from lacre.engine.messages import FIELDS as TEMPLATES
from lacre.errors import IncompleteError, InputError, IntegrityError, LacreError, sentence
from lacre.jsonl import read_bytes, write_bytes
from lacre.registry import ledger as ledgers
from lacre.registry.ledger import Ledger
from lacre.registry.records import Record
from lacre.registry.workspace import Workspace
from lacre.release import verify as verifier
from lacre.release.canary import Canary, missing, read_canary
from lacre.release.contents import Contents, gather
from lacre.release.describe import Order, Works, describe, next_due
from lacre.release.dictionary import dictionary
from lacre.release.logged import with_release
from lacre.release.manifests import Passed, earlier_files, keep, last_release, releases
from lacre.release.packing import copy, draft, put, tar_bytes, total_bytes, write_tar
from lacre.release.places import CODE, DICTIONARY, GIT, VERIFIER, apart
from lacre.release.program import TAR, code_files, code_json, code_of
from lacre.release.statement import Package, Private, Release, head_of, private_of, release_statement
from lacre.release.verify import ENVELOPE, KEY, LEDGER, STAMP, SUMS, sums_bytes
from lacre.rotation.beacon import instant
from lacre.rotation.public import read_public
from lacre.sealing.dsse import sign
from lacre.sealing.keyring import keyring
from lacre.sealing.keys import SigningKey

Guard = Callable[[Path, Contents], int]
"""Looks through a folder that is to be released; returns how many private items it looked for, or raises."""

Say = Callable[[str], None]
"""Tells a person how far the work is."""

Stamp = Callable[[bytes], bytes]
"""Has some bytes stamped by an authority (RFC 3161), and returns its answer."""

LARGE = 5 << 20  # bytes past which a file goes to git's large-file storage


class Built(Record, omit_defaults=False):
    """A release that was built.

    Attributes:
        package: the hash of its SHA256SUMS, which names it. ``key``: fingerprint of who signed.
        guarded: private items that the guard looked for. ``left_out``: files that no release holds.
        finished: whether an interrupted call had built it, and this one did what was left.
    """

    release: str
    folder: str
    tar: str
    package: str
    key: str
    files: int
    bytes: int
    guarded: int
    left_out: tuple[str, ...] = ()
    finished: bool = False


def build(
    root: Path,
    order: Order,
    signer: SigningKey,
    guard: Guard,
    say: Say = lambda _: None,
    *,
    program: Mapping[str, bytes] | None = None,
    stamp: Stamp | None = None,
) -> Built:
    """Build a release of a workspace: a folder, its tar, a line in the ledger, all of it or nothing.

    Called again after an interruption it does what was left. The same workspace, order and key give the same
    bytes on any machine. ``program``: the files of the program that travels along, by their names in its tar;
    those of this one when none is given. ``stamp``: has the signed statement stamped; else there is no stamp.

    Raises:
        LacreError: lists all that keeps it from being released; see :func:`lacre.release.contents.gather`.
        InputError: the name is taken or not plain, the key may not sign, or the canary or release.toml is missing.
        IntegrityError: the ledger, or what the workspace keeps of an earlier release, does not hold.
    """
    if not order.name.isascii() or "/" in order.name or verifier.name_fault(order.name):
        raise InputError(
            f"release '{order.name}'", "is not a plain name", "Use letters, digits, '.', '_', '-'"
        )
    order.out.mkdir(parents=True, exist_ok=True)
    workspace = Workspace(root)
    with ExitStack() as held:
        held.enter_context(ledgers.locked(order.folder))
        ledger = _ledger(workspace, signer)
        _refuse_name_and_time(order, ledger)
        contents = gather(workspace, order.benchmarks, runs=order.runs, results=order.results)
        finished = order.folder.exists()
        if finished:
            statement = _left_by_an_interruption(order, ledger, signer)
            looked_for = guard(order.folder, contents)
        else:
            with draft(order.folder) as folder:
                carried = code_files() if program is None else program
                works = Works(folder, read_canary(root), workspace, order, contents, ledger, signer, carried)
                say(f"{len(contents.files)} files are gathered")
                sealed = _fill(works)
                say("the guard looks through them")
                looked_for = guard(folder, contents)
                _refuse_unmarked(works)
                statement = _signed(works, sealed)
                if stamp is not None:
                    put(folder, STAMP, stamp((folder / ENVELOPE).read_bytes()))
                say("they are verified")
                _refuse_unsound(folder, signer)
                # From here to the ledger's own line nobody else may write it.
                _hold_ledger(held, root, ledger)
        if finished:
            _hold_ledger(held, root, ledger)
        # What a crash left of the files that are replaced here; both are locked, so nobody is writing them.
        for place in (order.tar, root / LEDGER):
            for left in place.parent.glob(f".{place.name}.*.part"):
                left.unlink()
        write_tar(order.folder, order.tar)
        package = sha256_file(order.folder / SUMS)
        passed = Passed(package=package, items=looked_for, at=statement.at, version=lacre.__version__)
        keep(root, order.folder, passed, order.benchmarks)
        write_bytes(root / LEDGER, with_release(ledger, statement, package, signer).content)
    return Built(
        release=order.name,
        folder=str(order.folder),
        tar=str(order.tar),
        package=package,
        key=signer.fingerprint,
        files=statement.package.files,
        bytes=statement.package.bytes,
        guarded=looked_for,
        left_out=tuple(contents.left_out),
        finished=finished,
    )


def _refuse_name_and_time(order: Order, ledger: Ledger) -> None:
    if order.name in releases(ledger):
        raise InputError(f"release '{order.name}'", "was made before", "Choose another name")
    last = ledger.lines[-1].at
    if instant(order.at) < last:
        what = f"is before the ledger's last line, of {last}"
        raise InputError(f"--at {instant(order.at)}", what, "Set the clock right, or give a later time")


def _hold_ledger(held: ExitStack, root: Path, ledger: Ledger) -> None:
    """Hold the ledger until the end; refuse when it is not any more what the release was made on."""
    held.enter_context(ledgers.locked(root / LEDGER))
    if read_bytes(root / LEDGER) != ledger.content:
        what = "grew while the release was built, which does not hold the new lines"
        raise IncompleteError(sentence(root / LEDGER, what, "Build again"))


def _left_by_an_interruption(order: Order, ledger: Ledger, signer: SigningKey) -> Release:
    """The statement of a release that is there, and that the ledger does not name yet.

    Raises:
        InputError: what is there is something else.
    """
    try:
        claim = verifier.claim_of(read_bytes(order.folder / ENVELOPE), ENVELOPE)
        statement = msgspec.convert(claim.predicate, Release)
    except (LacreError, verifier.Wrong, msgspec.ValidationError):
        statement = None
    outcome = verifier.verify(order.folder, key=signer.fingerprint)
    if (
        statement is None
        or (statement.release, statement.ledger) != (order.name, head_of(ledger))
        or outcome.verdict != "authentic"
    ):
        todo = "Choose another name or --out, or remove it if it is half of something"
        raise InputError(order.folder, "is there already, and is not this release", todo)
    return statement


def _ledger(workspace: Workspace, signer: SigningKey) -> Ledger:
    path = workspace.root / LEDGER
    ledger = ledgers.read(path)
    if not ledger.lines:
        raise InputError(path, "has no line yet", "Begin with `lacre key new`")
    if signer.fingerprint not in keyring(ledger, path).active:
        raise InputError(
            f"key {signer.fingerprint[:16]}",
            "may not sign in this ledger",
            "`lacre key list` names those that may",
        )
    return ledger


def _fill(works: Works) -> dict[str, Private]:
    """Write every file that the manifest will list, and return the sealed items of each benchmark."""
    contents, workspace = works.contents, works.workspace
    promised = _promised(contents)
    for name, path in sorted(contents.files.items()):
        if name.endswith("/openings.jsonl"):
            works.keep(name, marked_openings(read_bytes(path), works.canary))
        elif _ITEMS.fullmatch(name):
            works.add(name, without_people(read_bytes(path)))
        elif name in contents.images or apart(name) or sha256_file(path) in promised:
            works.sums[name] = copy(works.folder, name, path)
        else:
            works.add(name, read_bytes(path))
    for name, path in earlier_files(workspace.root, works.ledger):
        works.sums[name] = copy(works.folder, name, path)
    # As it was when this began, whatever is added meanwhile.
    works.keep(LEDGER, works.ledger.content)
    for name in TEMPLATES:
        place = f"registry/templates/{name}.txt"
        if place not in works.sums:
            works.keep(place, package_files("lacre.engine").joinpath("templates", f"{name}.txt").read_bytes())
    works.keep(TAR, tar_bytes(works.program))
    works.add(CODE, code_json(code_of(works.program)))
    works.keep(VERIFIER, package_files("lacre.release").joinpath("verify.py").read_bytes())
    works.keep(KEY, works.signer.public.pem)
    works.keep(works.canary.file, works.canary.line)
    works.add(DICTIONARY, dictionary().encode())
    sealed = {name: private_of(read_public(workspace.registry, name)) for name in works.order.benchmarks}
    describe(works, sealed)
    large = sorted(n for n in works.sums if n == TAR or (works.folder / n).stat().st_size > LARGE)
    lines = [
        f"# {works.canary.text}",
        "* -text",
        *(f"{name} filter=lfs diff=lfs merge=lfs -text" for name in large),
    ]
    works.keep(GIT, "".join(f"{line}\n" for line in lines).encode())
    return sealed


def _promised(contents: Contents) -> set[str]:
    """Hashes that freezes promise of files with rules and matrices: those files go out as they are."""
    found: set[str] = set()
    for name, path in contents.files.items():
        if name.endswith("freeze.dsse.json"):
            frozen = verifier.claim_of(read_bytes(path), str(path)).predicate
            found |= set(frozen.get("settings", {}).values())
    return found


def marked_openings(content: bytes, canary: Canary) -> bytes:
    """Openings with the canary in each line, in its place among the sorted names, where verifiers take it out again.

    >>> marked_openings(b'{"batch":"b1","cell":{}}\\n', Canary(text="c", uuid="u", minted="2026-01-01"))
    b'{"batch":"b1","canary":"c","cell":{}}\\n'
    """
    lines = (json.loads(line) for line in content.splitlines())
    return b"".join(verifier.canonical({**line, "canary": canary.text}) + b"\n" for line in lines)


_ITEMS = re.compile(r"registry/[^/]+/(?:official|open)/[^/]+\.jsonl")


def without_people(content: bytes) -> bytes:
    """Items without those lines of their history that name who worked on them; that an item opened, stays (L22).

    >>> without_people(b'{"id":"a","history":[{"when":"2026-01-31","who":"Ana","what":"comma"}]}\\n')
    b'{"id":"a"}\\n'
    """
    lines = []
    for line in content.splitlines(keepends=True):
        item = json.loads(line)
        kept = [change for change in item.get("history", ()) if change.get("what") == "opened"]
        if kept == item.get("history", []):
            lines.append(line)
            continue
        rest = {name: value for name, value in item.items() if name != "history"}
        lines.append(jsonl.encode(rest | ({"history": kept} if kept else {})))
    return b"".join(lines)


def _refuse_unmarked(works: Works) -> None:
    """Refuse public files that lost the canary, or never got it (L9); what a freeze promises goes out as it is."""
    promised = _promised(works.contents)
    left = [
        name
        for name in (path.as_posix() for path in missing(works.folder, works.canary))
        if not apart(name) and name not in works.contents.images and works.sums[name] not in promised
    ]
    if works.unmarked or left:
        told = [sentence(name, "does not hold the canary", "Place it") for name in left]
        raise LacreError("\n".join(works.unmarked or told))


def _signed(works: Works, sealed: dict[str, Private]) -> Release:
    """Write SHA256SUMS and the signed statement."""
    sums, order = sums_bytes(works.sums), works.order
    statement = Release(
        release=order.name,
        at=instant(order.at),
        package=Package(files=len(works.sums), bytes=total_bytes(works.folder, works.sums)),
        benchmarks=dict(sorted(sealed.items())),
        ledger=head_of(works.ledger),
        previous=last_release(works.ledger),
        next_due=next_due(order, works.workspace),
        code=code_of(works.program),
    )
    put(works.folder, SUMS, sums)
    put(works.folder, ENVELOPE, sign(release_statement(statement, sha256(sums)), works.signer))
    return statement


def _refuse_unsound(folder: Path, signer: SigningKey) -> None:
    """Refuse to release what a stranger could not verify.

    Raises:
        IntegrityError: lists what does not hold.
    """
    outcome = verifier.verify(folder, key=signer.fingerprint)
    faults = [fault for check in outcome.checks for fault in check.faults]
    if outcome.verdict != "authentic":
        what = "the release would not verify, so it was not made"
        raise IntegrityError(
            "\n".join([*(f"{fault}." for fault in faults), f"{what}. Run `lacre round audit`."])
        )
