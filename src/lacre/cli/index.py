"""``lacre index``: indexes of public text, in which items are looked up instead of reading everything."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lacre.cli.output import LiveLine, example, json_option, print_json, print_table, say
from lacre.errors import Exit, InputError, IntegrityError, remedy

if TYPE_CHECKING:
    from lacre.corpora.indexing import Index
    from lacre.vetting.indexed_building import Built
    from lacre.vetting.indexed_portions import Building

RUNS = range(8, 14)
SENTENCES = (10, 14, 18, 22)
"""Words of the runs and of the sentences whose reach `info` prints."""

FOLDER = click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
CORPORA = click.option(
    "--corpus", "corpora", multiple=True, required=True, metavar="SRC",
    help="A file, a folder or a glob of public text. Give it again for more.",
)  # fmt: skip
COLUMN = click.option(
    "--column",
    metavar="NAME",
    help="The text column of the corpora, nested as messages[].content; found when not given.",
)
WORKERS = click.option(
    "--workers", type=click.IntRange(1), help="Threads that read at once; one for each core when not given."
)


@click.group(epilog=example("lacre index build index --corpus corpus", "lacre vet items.csv --index index"))
def index() -> None:
    """Build indexes of public text, add to them, and see what they hold and whether they are whole."""


@index.command("build", epilog=example("lacre index build index --corpus corpus --corpus leaks"))
@FOLDER
@CORPORA
@COLUMN
@WORKERS
@json_option
def build_(
    folder: Path, corpora: tuple[str, ...], column: str | None, workers: int | None, as_json: bool
) -> None:
    """Make the index of some public text in FOLDER, in about three tenths of the text's bytes.

    It may be interrupted, or killed: the same command goes on from where it was. Until it has finished there is no
    index. Exit code 4 when a corpus cannot be reached.
    """
    from lacre.corpora.indexing import MANIFEST  # noqa: PLC0415 - keeps --help fast

    if (folder / MANIFEST).exists():
        raise InputError(folder, "there is an index here already", "Add to it with `lacre index add`")
    _built(folder, corpora, column, workers, as_json=as_json)


@index.command(
    epilog=example("lacre index build index --corpus corpus", "lacre index add index --corpus leaks")
)
@FOLDER
@CORPORA
@COLUMN
@WORKERS
@json_option
def add(
    folder: Path, corpora: tuple[str, ...], column: str | None, workers: int | None, as_json: bool
) -> None:
    """Add public text to the index in FOLDER, as a new segment; what it has already is not read again.

    A file that has changed since is indexed anew, and its old text no longer counts. When the command is killed the
    index stays what it was, and the same command goes on.
    """
    from lacre.corpora.indexing import read_manifest  # noqa: PLC0415 - keeps --help fast

    read_manifest(folder)
    _built(folder, corpora, column, workers, as_json=as_json)


def _built(
    folder: Path, corpora: Sequence[str], column: str | None, workers: int | None, *, as_json: bool
) -> None:
    """Build or add, showing how far it is, and print what the index holds then."""
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - keeps --help fast

    from lacre.cli.vet_work import cores  # noqa: PLC0415
    from lacre.corpora.indexing import open_index  # noqa: PLC0415
    from lacre.corpora.remote import refuse_secrets  # noqa: PLC0415
    from lacre.vetting.indexed_building import build  # noqa: PLC0415
    from lacre.vetting.scan import listings  # noqa: PLC0415

    for corpus in corpora:
        # The index keeps where each text lies, to read it again.
        refuse_secrets(corpus)
    found = listings(corpora, column, apart=[folder])
    named = [(corpus, column, listing) for corpus, listing in zip(corpora, found, strict=True)]
    meter = _Meter()
    try:
        with ThreadPoolExecutor(workers or cores()) as executor:
            built = build(folder, named, executor=executor, on_progress=meter)
    except BrokenPipeError:
        raise  # whoever read our progress has gone; nothing is wrong with the index
    except OSError as error:
        # Where bytes end up in a buffer the system names no file.
        what = f"could not be written: {error.strerror or type(error).__name__}"
        todo = f"{remedy(error)}, then give the same command: what was read is not read again"
        raise InputError(error.filename or folder, what, todo) from None
    finally:
        meter.line.close()
    _say_built(built)
    _print(open_index(folder), as_json=as_json)


class _Meter:
    """Progress on stderr: one line that renews itself on a terminal, else a line every ten seconds."""

    def __init__(self) -> None:
        self.live = sys.stderr.isatty()
        self.line = LiveLine(self.live)
        self.begun = self.last = time.monotonic()

    def __call__(self, now: Building) -> None:
        """Show how far the build is, now and then."""
        at = time.monotonic()
        if at - self.last < (0.1 if self.live else 10.0):
            return
        self.last = at
        rate = now.text / 1e6 / max(at - self.begun, 1e-3)
        self.line.show(
            f"{now.doing}: {now.portions:,} of {now.of_portions:,} parts, {now.text / 1e6:,.0f} MB of text, "
            f"{rate:,.0f} MB/s"
        )


def _say_built(built: Built) -> None:
    said = [f"{_counted(built.new, 'shard')} indexed"]
    if built.same:
        said.append(f"{built.same:,} were there already")
    if built.changed:
        said.append(f"{built.changed:,} of them in the place of an older version")
    if built.shared:
        said.append(f"{built.shared:,} of them for another corpus too, and found twice")
    say("; ".join(said) + ".")
    for corpus in built.manifest.corpora:
        if lost := [gap for gap in corpus.left_out if gap.bytes or gap.incomplete]:
            say(f"{corpus.corpus}: {len(lost):,} left out, the first {lost[0].where}: {lost[0].reason}.")


@index.command(epilog=example("lacre index build index --corpus corpus", "lacre index info index --json"))
@FOLDER
@json_option
def info(folder: Path, as_json: bool) -> None:
    """Say what the index in FOLDER holds: corpora, documents, words, its bytes for each byte of text, its reach.

    Reach is the share of runs of so many words that the index finds, by the fingerprints it has; and of sentences of
    so many words with one word changed.
    """
    from lacre.corpora.indexing import open_index  # noqa: PLC0415 - keeps --help fast

    _print(open_index(folder), as_json=as_json)


def _print(found: Index, *, as_json: bool) -> None:
    from lacre.corpora.indexing import size_of  # noqa: PLC0415 - keeps --help fast
    from lacre.overlap.winnow import reach, sentence_reach  # noqa: PLC0415

    records = found.manifest.segments
    text = sum(record.text for record in records)
    rows = _corpora(found)
    runs = {words: round(reach(found.gaps, words), 3) for words in RUNS}
    sentences = {words: round(sentence_reach(found.gaps, words), 3) for words in SENTENCES}
    fingerprints = sum(record.fingerprints for record in records)
    if as_json:
        print_json(
            {
                "corpora": [dict(zip(_COLUMNS, row, strict=True)) for row in rows],
                "segments": records,
                "text_bytes": text,
                "words": found.words,
                "documents": sum(record.documents for record in records),
                "fingerprints": fingerprints,
                "index_bytes": size_of(records),
                # Of no text there is no ratio.
                "bytes_per_byte": round(size_of(records) / text, 4) if text else None,
                "reach_of_runs": runs,
                "reach_of_sentences_with_a_word_changed": sentences,
            }
        )
        return
    print_table(_COLUMNS, rows, right=_COLUMNS[1:], whole=("corpus",))
    sys.stdout.flush()
    say(
        f"{_counted(len(records), 'segment')}, {_counted(fingerprints, 'fingerprint')}, "
        f"{size_of(records) / 1e6:,.1f} MB for {text / 1e6:,.1f} MB of text"
        + (f": {size_of(records) / text:.3f} bytes for each." if text else ".")
    )
    say(
        "Runs found, by their words: "
        + ", ".join(f"{words}: {share:.0%}" for words, share in runs.items())
        + "."
    )
    say(
        "Sentences found with one word changed, by their words: "
        + ", ".join(f"{words}: {share:.0%}" for words, share in sentences.items())
        + "."
    )


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


_COLUMNS = ("corpus", "files", "documents", "words", "bytes", "unread_bytes")


def _corpora(found: Index) -> list[tuple[object, ...]]:
    """What the index has of each corpus: a file of several parts is counted for each."""
    from lacre.corpora.indexing import by_corpus  # noqa: PLC0415 - keeps --help fast

    left_out = {one.corpus: sum(gap.bytes for gap in one.left_out) for one in found.manifest.corpora}
    return [
        (
            corpus,
            len(sources),
            sum(source.documents for source in sources),
            sum(source.words for source in sources),
            sum(source.bytes for source in sources),
            left_out.get(corpus, 0) + sum(source.unread_bytes for source in sources),
        )
        for corpus, sources in by_corpus(found).items()
    ]


@index.command(epilog=example("lacre index build index --corpus corpus", "lacre index check index"))
@FOLDER
@click.option("--sources", is_flag=True, help="Say too which indexed files are gone or have changed.")
@json_option
def check(folder: Path, sources: bool, as_json: bool) -> int:
    """Read the index in FOLDER from end to end: every file is what the manifest says, and in order.

    Exit code: 0 when it is whole, 1 when --sources finds files that cannot be read again, 3 when it is damaged.
    """
    from lacre.corpora.indexing import absence, checked, open_index  # noqa: PLC0415 - keeps --help fast

    faults = list(checked(folder))
    gone: list[dict[str, str]] = []
    if sources and not faults:
        for source in open_index(folder).sources():
            if why := absence(source):
                gone.append({"file": source.shard.location, "reason": why})
    if as_json:
        print_json({"faults": faults, "gone": gone})
    else:
        for one in gone:
            click.echo(f"{one['file']}: {one['reason']}")
    if faults and not as_json:
        raise IntegrityError("\n".join(f"{fault}. Build the index again." for fault in faults))
    if faults:
        return int(Exit.INTEGRITY)
    if not as_json and not gone:
        say(f"{folder}: whole and in order.")
    return int(Exit.FINDING if gone else Exit.CLEAN)
