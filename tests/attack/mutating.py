"""Ways to spoil a file: its bytes, its lines, or the values in it."""

import copy
import gzip
import json
import lzma
import math
import zlib
from collections.abc import Callable
from random import Random
from typing import Any

NESTED = 5000  # brackets
TOKENS: tuple[bytes, ...] = (
    *(b"\0", b"\x1b[31m\x1b]0;owned\x07", b"\x07", b"\r", b"\n\n", b"\t", b"\t\t", b"\xef\xbb\xbf", b"\xff\xfe"),
    *(b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf", "\u2028".encode(), "\u202e".encode(), "\u0085".encode()),
    *(b'"', b"'", b"{", b"]", b"[" * NESTED, b'{"a":' * NESTED, b"\\ud800", b"\\u0000", b"null", b"NaN", b"Infinity"),
    *(b"-1", b"0", b"1e999", b"9" * 5000, str(10**18).encode(), b"../../canary/secret", b"/etc/passwd", b"task:none"),
    *("\u2581".encode(), "\U0010ffff".encode(), "e\u0301".encode() * 40, b"a" * 3000, b" " * 500, b"0-0", b"99-99"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2, 3, 10**6, 10**9, 10**18, 10**30, -(10**18), 0.5, -0.5, 1.5, 1e-300, 1e300),
    *(math.nan, math.inf, -math.inf, "", " ", "auto", "none", "\0", "\x1b[31mred", "\ud800", "é" * 300, "../canary"),
    *("canary_module:factory", "os:system", "canary_module:", ":", "a:b:c", "-", ".", "/", "nan", "1", "task:nothing"),
    *([], {}, [1, 2], [0, 0], [-1, 5], ["a", "b"], [[]], {"a": 1}, [math.nan, 0.9], [0.9, 2], ["(a+)+$"]),
)


def spoil_bytes(random: Random, content: bytes) -> bytes:
    """One to three changes of bytes or lines."""
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        content = random.choice(_CHANGES)(random, content)
    return content


def _flip(random: Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 4, 16))):
        if changed:
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _cut(random: Random, content: bytes) -> bytes:
    return content[: random.randint(0, len(content))]


def _insert(random: Random, content: bytes) -> bytes:
    place = random.randint(0, len(content))
    return content[:place] + random.choice(TOKENS) + content[place:]


def _replace(random: Random, content: bytes) -> bytes:
    place = random.randint(0, len(content))
    return content[:place] + random.choice(TOKENS) + content[place + random.randint(1, 12) :]


def _remove(random: Random, content: bytes) -> bytes:
    place = random.randint(0, len(content))
    return content[:place] + content[place + random.randint(1, max(1, len(content) // 4)) :]


def _repeat(random: Random, content: bytes) -> bytes:
    first, last = sorted(random.randint(0, len(content)) for _ in range(2))
    return content[:last] + content[first:last] * random.choice((1, 1, 3)) + content[last:]


def _lines(random: Random, content: bytes) -> bytes:
    lines = content.splitlines(keepends=True) or [b""]
    place = random.randrange(len(lines))
    change = random.choice(("remove", "repeat", "shuffle", "blank", "ends", "glue"))
    if change == "remove":
        del lines[place]
    elif change == "repeat":
        lines[place:place] = [lines[place]] * random.choice((1, 2, 50))
    elif change == "shuffle":
        random.shuffle(lines)
    elif change == "blank":
        lines[place] = b"\n"
    elif change == "glue":
        lines[place] = lines[place].rstrip(b"\r\n")
    else:
        lines = [line.replace(b"\n", random.choice((b"\r\n", b"\r", b"\n\n"))) for line in lines]
    return b"".join(lines)


def _whole(random: Random, content: bytes) -> bytes:
    noise = bytes(random.randrange(256) for _ in range(200))
    return random.choice(
        (b"", b"\n", b"\0" * 64, noise, content * 3, content.decode("utf-8", "replace").encode("utf-16"))
    )


_CHANGES: tuple[Callable[[Random, bytes], bytes], ...] = (
    *(_flip, _cut, _insert, _replace, _remove, _repeat, _lines, _lines, _insert, _whole),
)


def compressed(random: Random, content: bytes) -> bytes:
    """Packed, and then mostly damaged: cut off, with another length or checksum, or with a header that lies."""
    if random.random() < 0.5:
        packed = bytearray(gzip.compress(content, mtime=0))
        lie = random.choice(("none", "length", "checksum", "cut", "flip", "twice", "flags"))
        if lie == "length":
            packed[-4:] = (2**31).to_bytes(4, "little")
        elif lie == "checksum":
            packed[-8] ^= 0xFF
        elif lie == "flags":
            packed[3] = random.randrange(256)
    else:
        packed = bytearray(lzma.compress(content))
        lie = random.choice(("none", "dictionary", "cut", "flip", "twice"))
        if lie == "dictionary":
            packed = _claim_dictionary(packed, random.choice((30, 36, 39, 40, 255)))
    if lie == "cut":
        del packed[random.randrange(len(packed)) :]
    elif lie == "flip":
        packed[random.randrange(len(packed))] ^= 1 << random.randrange(8)
    elif lie == "twice":
        packed = packed * 2
    return bytes(packed)


def _claim_dictionary(packed: bytearray, size: int) -> bytearray:
    """An xz whose block claims to need a dictionary of that size (39: 3 GB), with a checksum that is right."""
    start, length = 12, (packed[12] + 1) * 4  # the first block's header comes after 12 bytes of the stream's
    header = packed[start : start + length - 4]
    at = header.index(b"\x21\x01")  # filter LZMA2, one byte of properties: the size
    header[at + 2] = size
    packed[start : start + length] = header + zlib.crc32(header).to_bytes(4, "little")
    return packed


def spoil_value(random: Random, whole: Any) -> tuple[Any, str]:
    """Another value, key or shape somewhere in a nest of dicts and lists, and where."""
    whole = copy.deepcopy(whole)
    places = list(_places(whole, ()))
    if not places:
        return random.choice(VALUES), ""
    path = random.choice(places)
    inner = whole
    for step in path[:-1]:
        inner = inner[step]
    key, change = path[-1], random.random()
    if change < 0.65:
        inner[key] = random.choice(VALUES)
    elif change < 0.75:
        del inner[key]
    elif change < 0.85:
        inner[key] = [inner[key]] if random.random() < 0.5 else {"a": inner[key]}
    elif isinstance(inner, dict):
        inner[random.choice(("unknown", "", "a.b", "\x1b[31m", "é", "__class__"))] = random.choice(VALUES)
    else:
        inner.insert(0, copy.deepcopy(inner[key]))
    return whole, ".".join(map(str, path))


def _places(value: Any, path: tuple[Any, ...]) -> Any:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in inner:
        yield (*path, key)
        yield from _places(one, (*path, key))


def as_json(value: Any) -> bytes:
    """With what JSON does not allow (NaN, half of a surrogate pair) as Python writes it."""
    return json.dumps(value).encode()


def as_toml(value: Any) -> str:
    """One value as TOML writes it; None, which TOML has not, as an empty string."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, list):
        return f"[{', '.join(map(as_toml, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(str(key))} = {as_toml(one)}' for key, one in value.items())}}}"
    return '""' if value is None else json.dumps(value)
