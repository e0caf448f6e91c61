"""Corpora that were spoilt: TSV, two files, JSONL or CSV, plain or compressed, given to the commands that read them."""

import csv
import gzip
import io
import json
import lzma
import zlib
from pathlib import Path
from random import Random
from typing import Any

from .child import Ended
from .mutating import as_json, compressed, spoil_bytes, spoil_value
from .oracle import Accepted, Case
from .samples import PAIRS, TRAIN, Samples, add_model, pairs_tsv, set_options, texts

SEARCH = ["--beam", "2", "--longest", "6", "--device", "cpu"]


def build(random: Random, folder: Path, samples: Samples) -> Case:
    kind = random.choice(("tsv", "tsv", "two", "jsonl", "csv", "texts", "objects"))
    content = _content(random, kind)
    place = random.random()
    if place < 0.2:
        content = compressed(random, content)
    elif place < 0.25:
        content = compressed(random, spoil_bytes(random, content))
    else:
        content = spoil_bytes(random, content)
    name = {"tsv": "c.tsv", "two": "c.src", "jsonl": "c.jsonl", "csv": "c.csv", "texts": "c.txt", "objects": "c.jsonl"}[
        kind
    ]
    if random.random() < 0.02:
        (folder / name).mkdir()
    else:
        (folder / name).write_bytes(content)
    second = []
    if kind == "two":
        (folder / "c.tgt").write_text("".join(f"{target}\n" for _, target in PAIRS))
        second = ["c.tgt"]
    case = _command(random, folder, samples, kind, name, second)
    case.about = f"corpus {kind}"
    return case


def _content(random: Random, kind: str) -> bytes:
    if kind in ("jsonl", "objects"):
        records: list[Any] = [{"source": source, "target": target} for source, target in PAIRS]
        if random.random() < 0.5:
            place = random.randrange(len(records))
            records[place], _ = spoil_value(random, records[place])
        return b"".join(as_json(record) + b"\n" for record in records)
    if kind == "csv":
        written = io.StringIO()
        csv.writer(written).writerows([("source", "target"), *PAIRS])
        return written.getvalue().encode()
    if kind == "two":
        return "".join(f"{source}\n" for source, _ in PAIRS).encode()
    return texts() if kind == "texts" else pairs_tsv()


def _command(random: Random, folder: Path, samples: Samples, kind: str, name: str, second: list[str]) -> Case:
    if kind in ("texts", "objects"):
        add_model(random, folder, samples)
        out = random.choice(([], ["--out", "out.txt"]))
        return Case(
            arguments=["translate", "model", name, *SEARCH, *out],
            accepted=_as_many_lines(name, "out.txt" if out else None),
            outputs=("out.txt",),
        )
    command = random.choices(("data", "data --out", "score", "train", "evaluate"), (5, 3, 2, 1, 1))[0]
    if command == "data":
        return Case(arguments=["data", name, *second, "--json"], accepted=_all_counted(name, kind))
    if command == "data --out":
        clean = random.choice((["--clean", "all"], ["--clean", "duplicates"], []))
        arguments = ["data", name, *second, "--json", *clean, "--out", "out.jsonl"]
        return Case(arguments=arguments, accepted=_all_counted(name, kind, "out.jsonl"), outputs=("out.jsonl",))
    if command == "train":
        settings = [*set_options({"train": TRAIN}), "--set", "data.vocabulary.kind=char"]
        preset = ["--model", "cho2014", "--set", "model.preset=tiny", "--set", "model.hidden=8"]
        arguments = ["train", name, *second, "--out", "out", *preset, *settings]
        return Case(arguments=arguments, accepted=_as_read(name, kind), outputs=("out",))
    add_model(random, folder, samples)
    if command == "score":
        arguments = ["score", "model", name, *second, "--device", "cpu", "--out", "out.txt"]
        return Case(arguments=arguments, accepted=_as_many_lines(name, "out.txt", kind), outputs=("out.txt",))
    arguments = ["evaluate", "model", name, *second, *SEARCH[:2], "--device", "cpu", "--resamples", "0", "--json"]
    return Case(arguments=arguments, accepted=_as_read(name, kind))


def _bytes(path: Path) -> bytes | None:
    """The unpacked bytes; None where they cannot be had."""
    content = path.read_bytes()
    try:
        if content.startswith(b"\x1f\x8b"):
            return gzip.decompress(content)
        return lzma.decompress(content) if content.startswith(b"\xfd7zXZ\0") else content
    except (EOFError, OSError, zlib.error, lzma.LZMAError):
        return None


def _lines(path: Path) -> list[str] | None:
    """The lines, read in another way than the package reads them; None: no text of lines."""
    content = _bytes(path)
    try:
        text = None if content is None else content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if text is None or "\0" in text:
        return None
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def pairs_in(path: Path, kind: str) -> int | None:
    """How many pairs a file of this kind holds; None where it is not one."""
    lines = _lines(path)
    if not lines:
        return None
    if kind == "tsv":
        return len(lines) if all(line.count("\t") == 1 or not line.strip() for line in lines) else None
    if kind == "two":
        return len(lines) if len(lines) == len(PAIRS) else None
    if kind == "csv":
        return None if not lines[0].strip() else sum(1 for _ in csv.reader(line + "\n" for line in lines)) - 1
    for number, line in enumerate(lines):
        if line.strip("\ufeff" if number == 0 else "").strip() and not _is_record(line.lstrip("\ufeff")):
            return None
    return len(lines)


def _is_record(line: str) -> bool:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and all(isinstance(record.get(field), str) for field in ("source", "target"))


def _as_read(name: str, kind: str) -> Accepted:
    def accepted(ended: Ended, folder: Path) -> str | None:
        return None if pairs_in(folder / name, kind) is not None else f"a file that holds no {kind}"

    return accepted


def _all_counted(name: str, kind: str, out: str | None = None) -> Accepted:
    """What is kept and what is left out are all the pairs of the file."""

    def accepted(ended: Ended, folder: Path) -> str | None:
        count, report = pairs_in(folder / name, kind), json.loads(ended.out)
        if count is None:
            return f"a file that holds no {kind}"
        left_out = sum(group["pairs"] for group in report["left_out"])
        if not report["count"] == report["kept"] + left_out == count:
            return (
                f"the pairs do not add up: {count} in the file, {report['count']} report, {report['kept']} + {left_out}"
            )
        if out is not None and len(_lines(folder / out) or []) != report["kept"]:
            return "not all that is kept was written"
        return None

    return accepted


def _as_many_lines(name: str, out: str | None, kind: str | None = None) -> Accepted:
    """A line for each line, or pair."""

    def accepted(ended: Ended, folder: Path) -> str | None:
        lines = _lines(folder / name)
        count = pairs_in(folder / name, kind) if kind else None if lines is None else len(lines)
        written = ended.out if out is None else (folder / out).read_text(encoding="utf-8")
        if count is None:
            return f"a file that holds no {kind or 'text'}"
        if written.count("\n") != count:
            return f"lines were lost: {count} given, {written.count(chr(10))} written"
        return "a score that is not finite" if kind and any(bad in written for bad in ("nan", "inf")) else None

    return accepted
