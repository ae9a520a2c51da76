"""``README.md`` of a release: a dataset card, how to verify it without installing anything, whom to ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from lacre.registry.records import Record
from lacre.release.about import About
from lacre.release.croissant import set_name
from lacre.release.flat import FlatItem
from lacre.release.places import APART
from lacre.release.shapes import Shape, shapes
from lacre.release.statement import Private
from lacre.release.verify import ENVELOPE, KEY, PAYLOAD_TYPE, SUMS


class Shown(Record):
    """What the card shows of one benchmark: its title and notes, and its public items by layer."""

    name: str
    title: str
    notes: str
    layers: dict[str, int]


class Card(Record):
    """What a card is made from.

    Attributes:
        files: of flat rows, name -> number of rows.
        licences: layer -> its licence, in words.
        fingerprint: of the key that signs.
        runs: names of the runs whose raw answers are inside.
    """

    release: str
    at: str
    about: About
    benchmarks: tuple[Shown, ...]
    files: dict[str, int]
    licences: dict[str, str]
    fingerprint: str
    next_due: str | None
    previous: str | None
    canary: str
    runs: tuple[str, ...] = ()


def card(shown: Card, sealed: Mapping[str, Private]) -> str:
    """The card, front matter included, as Markdown; ``sealed``: benchmark -> its sealed items."""
    parts = [_front_matter(shown), _introduction(shown), _load(shown), _sealed(sealed), _verify(shown)]
    parts += [_reproduce(shown), _access(shown), _licences(shown)]
    return "\n".join(part for part in parts if part)


def _front_matter(shown: Card) -> str:
    """The YAML that dataset libraries read: one configuration for each layer of each benchmark."""
    lines = ["---", f"pretty_name: {_quoted(shown.release)}", "language:", "- pt"]
    lines += ["license: other", "license_name: by-layer", "license_link: LICENSE-open.txt"]
    lines += [
        "task_categories:",
        "- question-answering",
        "tags:",
        "- benchmark",
        "- evaluation",
        "- portuguese",
    ]
    lines += ["configs:"]
    for number, file in enumerate(sorted(shown.files)):
        lines += [f"- config_name: {set_name(file)}", "  data_files:", "  - split: test", f"    path: {file}"]
        lines += ["  default: true"] * (number == 0)
    lines += ["dataset_info:"]
    for file in sorted(shown.files):
        lines += [f"- config_name: {set_name(file)}", "  features:"]
        lines += [line for shape in shapes(FlatItem) for line in _feature(shape, "  ")]
        lines += ["  splits:", "  - name: test", f"    num_examples: {shown.files[file]}"]
    return "\n".join([*lines, "---", ""])


def _feature(shape: Shape, indent: str) -> Iterator[str]:
    yield f"{indent}- name: {shape.name}"
    if shape.basic is None:
        yield f"{indent}  list:"
        for part in shape.below:
            yield from _feature(part, indent + "  ")
    else:
        yield f"{indent}  {'list' if shape.many else 'dtype'}: {shape.basic}"


def _quoted(text: str) -> str:
    """A text as YAML takes it: JSON is YAML."""
    return msgspec.json.encode(text).decode()


def _introduction(shown: Card) -> str:
    lines = [f"# {shown.release}", "", f"Released by {shown.about.publisher} on {shown.at[:10]}.", ""]
    for each in shown.benchmarks:
        counts = ", ".join(f"{number} {layer}" for layer, number in sorted(each.layers.items()))
        lines += [f"**{each.title}** (`{each.name}`): {counts or 'no'} items.", ""]
        lines += [each.notes.strip(), ""] if each.notes.strip() else []
    lines += [
        "Official items are questions of public exams, with a final key, the address of the official booklet and the"
        " day they came out. Open items are new. Private items are not here: only what commits to them is.",
        "",
        "`dictionary.md` says what each file and field means.",
        "",
    ]
    return "\n".join(lines)


def _load(shown: Card) -> str:
    if not shown.files:
        return ""
    lines = ["## Load", "", "```python", "from datasets import load_dataset", ""]
    lines += [
        f'load_dataset("path/to/this/folder", "{set_name(file)}")["test"]' for file in sorted(shown.files)
    ]
    return "\n".join([*lines, "```", ""])


def _sealed(sealed: Mapping[str, Private]) -> str:
    if not any(each.private for each in sealed.values()):
        return ""
    lines = ["## Sealed items", "", "| benchmark | cell | private |", "|---|---|---:|"]
    for name, each in sorted(sealed.items()):
        lines += [f"| {name} | {cell} | {number} |" for cell, number in sorted(each.cells.items())]
    lines += [
        "",
        "Each is committed to in `registry/<benchmark>/private/commitments.jsonl` and opens on schedule.",
        "",
    ]
    return "\n".join(lines)


def _verify(shown: Card) -> str:
    due = f" The next release is due on {shown.next_due[:10]}." if shown.next_due else ""
    return _VERIFY.format(
        sums=SUMS,
        envelope=ENVELOPE,
        key=KEY,
        length=len(PAYLOAD_TYPE),
        kind=PAYLOAD_TYPE,
        fingerprint=shown.fingerprint,
        due=due,
        previous=shown.previous or "none: this is the first",
        canary=shown.canary,
        apart="\n".join(f"- `{name}`: {why}" for name, why in APART.items()),
    )


_VERIFY = """\
## Verify

Nothing needs to be installed. In this folder, with `sha256sum` every file:

```sh
sha256sum --quiet -c {sums}
```

with `openssl` (3.0 or newer) the signature, which is over the hash of `{sums}`:

```sh
d=$(mktemp -d)
sed 's/.*"payload":"\\([^"]*\\)".*/\\1/' {envelope} | openssl base64 -d -A > "$d/statement.json"
sed 's/.*"sig":"\\([^"]*\\)".*/\\1/' {envelope} | openssl base64 -d -A > "$d/signature"
printf 'DSSEv1 {length} {kind} %d ' "$(wc -c < "$d/statement.json")" | cat - "$d/statement.json" > "$d/signed"
openssl pkeyutl -verify -pubin -inkey {key} -rawin -in "$d/signed" -sigfile "$d/signature"
if grep -q "\\"sha256\\":\\"$(sha256sum {sums} | cut -c 1-64)\\"" "$d/statement.json"
then echo "signed over this {sums}"; else echo "SIGNED OVER ANOTHER {sums}"; fi
openssl pkey -pubin -in {key} -outform DER | tail -c 32 | sha256sum
```

and with Python (3.9 or newer) all of it: names, files, signature, ledger, earlier releases, commitments, openings, and
every draw repeated:

```sh
python3 -I verify.py --key FINGERPRINT
```

The last `openssl` line prints the fingerprint of the key that signed. In this copy it says

```
{fingerprint}
```

but a false copy would say its own: take the fingerprint from where the publisher makes it known, not from here. Without
one, or an earlier release that you trust (`--previous DIR`), the answer is "integrity only": the bytes belong together,
and nothing says whose they are. `verify.py` too came with the copy; the one of a release that you trust serves for all.

Previous release: {previous}.{due}

What `{sums}` does not list: itself, `{envelope}` and, where there is one, `release.tsr`, which shows since when the
signature exists: `openssl ts -verify -in release.tsr -data {envelope} -CAfile ROOT.pem`, with the root certificate of
the authority.

Every public file holds the canary

```
{canary}
```

but these, images of items, and settings that a freeze fixed by their hash:

{apart}
"""


_AGAIN = (
    "cp -r . ../copy && cd ../copy",
    "lacre canary place {run} --strip",
    "lacre run answers {run}",
    "lacre score {run}/answers-choice.jsonl",
)


def _reproduce(shown: Card) -> str:
    lines = ["## Reproduce", ""]
    lines += [
        "The folder is a lacre workspace. With the program in `code/` (unpack the tar, `pip install -r"
        " requirements.txt`, `python -m lacre`), `lacre run start BENCHMARK --column ID` asks a column what"
        " `registry/templates/` says, word for word, and `lacre score` scores the answers.",
        "",
    ]
    if shown.runs:
        lines += [
            f"Raw answers to the public items: {', '.join(f'`runs/{name}`' for name in shown.runs)}. Scores come out"
            " of them again in a copy of this folder, once the canary is taken out of their records:",
            "",
            "```sh",
            *(line.format(run=f"runs/{shown.runs[0]}") for line in _AGAIN),
            "```",
            "",
        ]
    lines += [
        "`lacre round audit` goes over every draw once more, drand's signatures too, in a copy after"
        " `lacre canary place registry --strip`.",
        "",
    ]
    return "\n".join(lines)


def _access(shown: Card) -> str:
    about = shown.about
    lines = ["## Access", "", about.access.strip(), "", f"Questions: {about.contact}", ""]
    if about.citation:
        lines += ["## Cite", "", about.citation.strip(), ""]
    return "\n".join(lines)


def _licences(shown: Card) -> str:
    lines = ["## Licences", "", "| part | licence |", "|---|---|"]
    lines += [f"| {layer} | {licence} |" for layer, licence in sorted(shown.licences.items())]
    return "\n".join([*lines, ""])
