"""``croissant.json``: the flat rows described in Croissant 1.1, so that machines find and load them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from lacre.release.about import About
from lacre.release.flat import FlatItem
from lacre.release.shapes import Shape, shapes

# http://docs.mlcommons.org/croissant/docs/croissant-spec-1.1.html, appendix on the JSON-LD context.
_CONTEXT: Mapping[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileProperty": "cr:fileProperty",
    "fileObject": "cr:fileObject",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}
_TYPES = {"string": "sc:Text", "bool": "sc:Boolean", "int64": "cr:Int64", "date32": "sc:Date"}


def croissant(
    name: str, *, at: str, about: About, digests: Mapping[str, str], licences: Iterable[str], canary: str
) -> bytes:
    """The description of a release's flat rows, as JSON.

    Args:
        at: when the release was made (UTC). ``digests``: name of each file of flat rows -> its SHA-256.
        licences: of the layers, in words or as addresses.
        canary: stands in the description, for the format has no other place for it.
    """
    record = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "name": name,
        "description": f"Public items of release {name}. {canary}",
        "url": about.url,
        "license": list(licences),
        "creator": {"@type": "sc:Organization", "name": about.publisher, "url": about.url},
        "publisher": {"@type": "sc:Organization", "name": about.publisher, "url": about.url},
        "datePublished": at[:10],
        "version": "1.0.0",
        "inLanguage": "pt-BR",
        "isLiveDataset": False,
        "citeAs": about.citation or f"{about.publisher}: {name}. {about.url}",
        "distribution": [_file(file, digest) for file, digest in sorted(digests.items())],
        "recordSet": [_records(file) for file in sorted(digests)],
    }
    return msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"


def set_name(file: str) -> str:
    """The name of a file's record set, and of its configuration in the dataset card.

    >>> set_name("data/exemplo/open.jsonl")
    'exemplo-open'
    """
    _, benchmark, layer = file.removesuffix(".jsonl").split("/")
    return f"{benchmark}-{layer}"


def _file(file: str, digest: str) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": file,
        "name": file,
        "contentUrl": file,
        "encodingFormat": "application/jsonlines",
        "sha256": digest,
    }


def _records(file: str) -> dict[str, Any]:
    name = set_name(file)
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": f"Items of {file}; dictionary.md says what each field means.",
        "key": {"@id": f"{name}/id"},
        "field": [field for shape in shapes(FlatItem) for field in _fields(name, file, shape)],
    }


def _fields(above: str, file: str, shape: Shape) -> Iterator[dict[str, Any]]:
    """A column's fields: columns within columns become lists of their own, one for each."""
    inner = [(f"{shape.name}_{part.name}", part) for part in shape.below]
    for name, part in inner or [(shape.name, shape)]:
        source: dict[str, Any] = {"fileObject": {"@id": file}, "extract": {"column": shape.name}}
        if inner:
            source["transform"] = {"jsonPath": part.name}
        yield {
            "@type": "cr:Field",
            "@id": f"{above}/{name}",
            "name": name,
            "dataType": _TYPES[part.basic or "string"],
            "source": source,
        } | ({"isArray": True, "arrayShape": "-1"} if shape.many or part.many else {})
