"""Makes the releases that are kept in tests/releases: run once for each format, never again."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

import msgspec
from tests.release.making import ABOUT, release
from tests.rotation.making import CORPUS, Stage, founded
from tests.sealing.making import private

from lacre import jsonl
from lacre.registry.corpora import Corpus
from lacre.registry.items import Item
from lacre.registry.rules import default_rules_text
from lacre.release.canary import read_canary
from lacre.release.verify import verify
from lacre.rotation.beacon import instant
from lacre.sealing.keyring import replace
from lacre.sealing.keys import key_from

HERE = Path(__file__).parents[1] / "releases"
REPOSITORY = Path(__file__).parents[2]
CELLS = [{"area": "saude", "difficulty": "facil"}, {"area": "direito", "difficulty": "media"}]


def sealed(count: int, prefix: str) -> list[Item]:
    """Private items, two of which quote one passage."""
    return [
        private(
            f"{prefix}{n:02d}",
            cell=CELLS[n % 2],
            passage="A maré baixa às seis e deixa os barcos na lama." if n < 2 else None,
        )
        for n in range(count)
    ]


def made(folder: Path) -> list[Path]:
    """Three releases of the example benchmark, as it is in the repository now."""
    root = folder / "workspace"
    shutil.copytree(REPOSITORY / "registry", root / "registry")
    shutil.copytree(REPOSITORY / "canary", root / "canary")
    read_canary(root)
    (root / "registry/release.toml").write_text(ABOUT, encoding="utf-8")
    (root / "registry/rules.toml").write_text(default_rules_text(), encoding="utf-8")
    (root / "registry/columns.toml").unlink()
    benchmark = root / "registry/exemplo/benchmark.toml"
    text = benchmark.read_text(encoding="utf-8").replace('first_open = "1"', 'first_open = "1/3"')
    benchmark.write_text(text.replace("example-corpus", CORPUS), encoding="utf-8")
    jsonl.write(root / "registry/corpora.jsonl", [Corpus(id=CORPUS, location="corpus")])
    play = founded(root, folder / "vault")
    play.add(sealed(12, "a"), "2026-2")
    first = release(play, "exemplo-a")
    play.freeze()
    play.add(sealed(4, "b"), "2027-1")
    play.close()
    second = release(play, "exemplo-b")
    rotated(play)
    third = release(play, "exemplo-c")
    return [Path(each.tar) for each in (first, second, third)]


def rotated(play: Stage) -> None:
    """A rotation with a void item, a corrected one, and one that must open; then another key signs."""
    void, old, forced, *_ = play.public.private
    play.void([void.id])
    play.supersede(old.id, msgspec.structs.replace(private(f"{old.id}c", cell=old.cell)))
    play.freeze(forced={forced.id: "leak"})
    play.close()
    new = key_from(bytes([1]) * 32)
    replace(play.registry / "ledger.jsonl", play.key, new, "equipe-2", at=instant(play.now))
    play.key = new


def main() -> None:
    """Make them, and note what each is."""
    (format_,) = sys.argv[1:]
    noted = HERE / "packages.json"
    packages = json.loads(noted.read_text(encoding="utf-8")) if noted.exists() else {}
    with tempfile.TemporaryDirectory() as name:
        for tar in made(Path(name)):
            kept = HERE / f"{format_}-{tar.name}"
            if kept.exists():
                raise SystemExit(f"{kept}: is kept already, and never made anew")
            shutil.copyfile(tar, kept)
            packages[kept.name] = verify(kept).package
    noted.write_text(json.dumps(packages, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
