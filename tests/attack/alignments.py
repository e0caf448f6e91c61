"""Alignment files that were spoilt, Pharaoh or NAACL: as gold to judge by, and as links to train with."""

import re
from pathlib import Path
from random import Random

from .child import Ended
from .mutating import spoil_bytes
from .oracle import Accepted, Case
from .samples import LINKS, PAIRS, Samples, add_model, pairs_tsv, recipe, recipe_toml

_PHARAOH = re.compile(r"([0-9]+)[-?p]([0-9]+)")
_NAACL = re.compile(r"\s*([0-9]+)\s+([0-9]+)\s+([0-9]+)(\s+[SP])?(\s+[0-9.]+)?\s*")
_NUMBERS = (b"9" * 5000, b"-1", b"32768", b"65536", b"99999999999999999999", "٣".encode(), b"0x1", b"1e1", b"")


def build(random: Random, folder: Path, samples: Samples) -> Case:
    naacl = random.random() < 0.3
    content = _naacl() if naacl else "".join(f"{line}\n" for line in LINKS).encode()
    content = _other_number(random, content) if random.random() < 0.4 else spoil_bytes(random, content)
    (folder / "links").write_bytes(content)
    (folder / "pairs.tsv").write_bytes(pairs_tsv())
    if random.random() < 0.3:
        settings = recipe("transformer")
        settings["data"]["alignments"], settings["train"]["guided"] = "links", 0.5
        (folder / "recipe.toml").write_bytes(recipe_toml(settings))
        arguments = ["train", "recipe.toml", "--out", "out"]
        return Case(arguments=arguments, accepted=_in_range(pharaoh=True), outputs=("out",), about="links")
    add_model(random, folder, samples)
    arguments = ["align", "model", "pairs.tsv", "--gold", "links", "--device", "cpu", "--layer", "0"]
    return Case(arguments=arguments, accepted=_in_range(pharaoh=None), about="alignments as gold")


def _naacl() -> bytes:
    lines = []
    for pair, links in enumerate(LINKS, 1):
        for source, target in re.findall(r"(\d+).(\d+)", links):
            lines.append(f"{pair:04} {int(source) + 1} {int(target) + 1} S\n")
    return "".join(lines).encode()


def _other_number(random: Random, content: bytes) -> bytes:
    found = list(re.finditer(rb"\d+", content))
    match = random.choice(found)
    return content[: match.start()] + random.choice(_NUMBERS) + content[match.end() :]


def _in_range(*, pharaoh: bool | None) -> Accepted:
    """None: by the first word of the file, as the package tells."""
    lengths = [(len(source.split()), len(target.split())) for source, target in PAIRS]

    def accepted(ended: Ended, folder: Path) -> str | None:
        text = (folder / "links").read_bytes().decode("utf-8", "replace").removeprefix("\ufeff")
        first = (text.split() or [""])[0]
        # Gold may come with the line ends of any system; links to train with are read as the pairs are.
        lines = re.split(r"\r?\n", text.removesuffix("\n")) if pharaoh else text.splitlines()
        good = _is_pharaoh(lines, lengths) if pharaoh or not first.isdigit() else _is_naacl(text, lengths)
        return None if good else "links that are out of range, or are none"

    return accepted


def _is_pharaoh(lines: list[str], lengths: list[tuple[int, int]]) -> bool:
    if len(lines) != len(lengths):
        return False
    for line, (source, target) in zip(lines, lengths, strict=True):
        for token in line.split():
            match = _PHARAOH.fullmatch(token)
            if match is None or _large(match[1], source) or _large(match[2], target):
                return False
    return True


def _is_naacl(text: str, lengths: list[tuple[int, int]]) -> bool:
    for line in filter(str.strip, text.splitlines()):
        match = _NAACL.fullmatch(line)
        if match is None or _large(match[1], len(lengths) + 1) or int(match[1]) < 1:
            return False
        source, target = lengths[int(match[1]) - 1]
        if _large(match[2], source + 1) or _large(match[3], target + 1):
            return False
    return True


def _large(digits: str, limit: int) -> bool:
    return len(digits) > 12 or int(digits) >= limit
