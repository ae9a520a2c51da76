"""Publishing a release: to a folder, or to a dataset of the Hugging Face Hub with its revision pinned (SPEC X5)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lacre.digest import sha256_file
from lacre.errors import ColumnError, InputError, IntegrityError, sentence
from lacre.jsonl import replacing
from lacre.registry import ledger as ledgers
from lacre.registry.records import Record
from lacre.release import verify as verifier
from lacre.release.fetch import repository
from lacre.release.manifests import Published, kept, note_published, passed, releases
from lacre.release.packing import copy, draft
from lacre.release.verify import BLOCK, LEDGER, SUMS

if TYPE_CHECKING:
    from huggingface_hub import HfApi

Say = Callable[[str], None]


class Shipment(Record, omit_defaults=False):
    """What is to be published: the release, its package, its files and their bytes."""

    release: str
    package: str
    files: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Remote:
    """A file of a dataset: SHA-256 where it is in large-file storage, else its git hash."""

    sha256: str | None
    git: str


def shipment(root: Path, folder: Path) -> Shipment:
    """A release of the workspace, checked: the ledger names it, the guard passed it, and it verifies.

    Raises:
        InputError: it is no release of this workspace, or the guard has not passed it.
        IntegrityError: it does not verify; lists what does not hold.
    """
    ledger = ledgers.read(root / LEDGER)
    sums = folder / SUMS
    if not sums.is_file():
        raise InputError(folder, "is no release", "Name the folder that `lacre release build` made")
    package, name = sha256_file(sums), folder.resolve().name
    if releases(ledger).get(name) != package:
        raise InputError(folder, "is no release that the ledger names", "Build it with `lacre release build`")
    if passed(root, name).package != package:
        raise InputError(
            folder, f"the guard has not passed this package ({kept(root, name)})", "Build it anew"
        )
    first = next(line.event for line in ledger.lines if line.event.__struct_config__.tag == "key_add")
    outcome = verifier.verify(folder, key=first.fingerprint)  # type: ignore[union-attr]
    if outcome.verdict != "authentic":
        faults = [f"{fault}." for check in outcome.checks for fault in check.faults]
        raise IntegrityError(
            "\n".join([*faults, sentence(folder, "does not verify", "It is never published so")])
        )
    files = _files(folder)
    return Shipment(
        release=name,
        package=package,
        files=len(files),
        bytes=sum(path.stat().st_size for path in files.values()),
    )


def to_folder(root: Path, folder: Path, target: Path, ship: Shipment, *, at: str) -> Published:
    """Copy a release, and its tar where it has one, into a folder; what is there already and is the same stays.

    Raises:
        InputError: something else is there under its name.
    """
    place = target / ship.release
    if place.exists():
        if not (place / SUMS).is_file() or verifier.verify(place).package != ship.package:
            raise InputError(place, "is there already, and is something else", "Choose another folder")
    else:
        target.mkdir(parents=True, exist_ok=True)
        with ledgers.locked(place), draft(place) as here:
            for name, path in _files(folder).items():
                copy(here, name, path)
    tar = folder.with_name(f"{ship.release}.tar")
    if tar.is_file():
        with tar.open("rb") as file, replacing(target / tar.name) as out:
            while block := file.read(BLOCK):
                out.write(block)
    _refuse_failed(place)
    done = Published(to=str(target), revision=ship.package, package=ship.package, at=at)
    note_published(root, ship.release, done)
    return done


def to_hub(
    root: Path, folder: Path, to: str, ship: Shipment, api: HfApi, *, at: str, say: Say = lambda _: None
) -> Published:
    """Make a dataset of the Hub hold exactly this release, in one commit, tagged with the release's name.

    Called again after an interruption it goes on: what is there is not sent again. The commit is made on the
    head that was looked at, so that nobody's change in between is lost.

    Raises:
        ColumnError: the Hub cannot be reached, or refuses. InputError: its tag of this name is another release.
        IntegrityError: the dataset then holds something else than the release.
    """
    import httpx2  # noqa: PLC0415 - heavy

    name, revision = repository(to)
    if revision is not None:
        raise InputError(to, "names a revision, and the Hub makes that", "Leave out what stands after @")
    try:
        oid = _commit(api, name, folder, ship, say)
        _tag(api, name, ship, oid)
    # The Hub's answers are HTTPErrors; what an upload meets is wrapped in RuntimeError or ValueError.
    except (httpx2.HTTPError, OSError, RuntimeError, ValueError) as error:
        cause = error.__cause__ or error
        what = f"cannot be published ({type(cause).__name__}: {str(cause).partition(chr(10))[0].rstrip('.')})"
        raise ColumnError(sentence(to, what, "Run it again: what arrived is not sent again")) from None
    done = Published(to=f"{to}@{oid}", revision=oid, package=ship.package, at=at)
    note_published(root, ship.release, done)
    return done


def _commit(api: HfApi, name: str, folder: Path, ship: Shipment, say: Say) -> str:
    """The commit at which the dataset holds the release."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete  # noqa: PLC0415 - heavy

    api.create_repo(name, repo_type="dataset", exist_ok=True)
    head = api.repo_info(name, repo_type="dataset", revision="main").sha
    there, here = _remote(api, name, head), _files(folder)
    new = sorted(file for file, path in here.items() if not _same(path, there.get(file)))
    old = sorted(set(there) - set(here))
    say(f"{len(new)} files to send, {len(here) - len(new)} are there, {len(old)} to take out")
    if new or old:
        adding = [CommitOperationAdd(path_in_repo=file, path_or_fileobj=here[file]) for file in new]
        removing = [CommitOperationDelete(path_in_repo=file) for file in old]
        done = api.create_commit(
            name,
            repo_type="dataset",
            operations=[*adding, *removing],
            commit_message=f"Release {ship.release}",
            commit_description=f"Package {ship.package}",
            parent_commit=head,
        )
        head = done.oid
    assert head is not None
    after = _remote(api, name, head)
    wrong = sorted(
        file
        for file in after.keys() | here.keys()
        if file not in here or not _same(here[file], after.get(file))
    )
    if wrong:
        raise IntegrityError(
            sentence(f"{name}@{head}", f"{wrong[0]} is not that of the release", "Look at it")
        )
    return head


def _tag(api: HfApi, name: str, ship: Shipment, oid: str) -> None:
    tags = {tag.name: tag.target_commit for tag in api.list_repo_refs(name, repo_type="dataset").tags}
    if tags.get(ship.release, oid) != oid:
        what = f"tag '{ship.release}' is at {tags[ship.release]} already, not at {oid}"
        raise InputError(name, what, "A published release is never moved")
    if ship.release not in tags:
        api.create_tag(name, tag=ship.release, revision=oid, repo_type="dataset")


def _remote(api: HfApi, name: str, revision: str | None) -> Mapping[str, Remote]:
    """The files of a dataset at a revision."""
    from huggingface_hub.hf_api import RepoFile  # noqa: PLC0415 - heavy

    return {
        each.path: Remote(each.lfs.sha256 if each.lfs else None, each.blob_id)
        for each in api.list_repo_tree(name, repo_type="dataset", revision=revision, recursive=True)
        if isinstance(each, RepoFile)
    }


def _same(path: Path, remote: Remote | None) -> bool:
    if remote is None:
        return False
    return sha256_file(path) == remote.sha256 if remote.sha256 else git_hash(path) == remote.git


def git_hash(path: Path) -> str:
    """The hash by which git knows a file's bytes: SHA-1 of ``blob``, their number, NUL and themselves."""
    digest = hashlib.sha1(b"blob %d\0" % path.stat().st_size, usedforsecurity=False)
    for block in _blocks(path):
        digest.update(block)
    return digest.hexdigest()


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            yield block


def _files(folder: Path) -> dict[str, Path]:
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}


def _refuse_failed(place: Path) -> None:
    if verifier.verify(place).verdict == "failed":
        raise IntegrityError(
            sentence(place, "what arrived does not verify", "Check the disk, and publish again")
        )
