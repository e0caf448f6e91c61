"""What the tasks share: randomness that depends on the request alone, splits by content, and how pairs are drawn.

A split owns contents, not draws: a hash of what a pair is about (the sequence, the date, the spelling) gives one in
twenty to `valid`, one in twenty to `test` and the rest to `train`. The seed has no say in it, so what one seed trains
on is never what another one tests on.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from hashlib import blake2b
from heapq import nsmallest
from random import Random

from saccade.errors import UserError
from saccade.tasks.pair import Pair

SPLITS = ("train", "valid", "test")
PATIENCE = 20_000  # draws in a row without a pair that fits, before there is said to be none


def generator(*request: object, split: str) -> Random:
    """Numbers that depend on the request alone, not on the process or the Python version."""
    if split not in SPLITS:
        raise UserError(f"split is {split!r}; expected one of {', '.join(SPLITS)}")
    return Random(int.from_bytes(blake2b(repr(request).encode(), digest_size=16).digest()))


def split_of(content: str) -> str:
    """The split that owns it."""
    drawn = int.from_bytes(blake2b(content.encode(), digest_size=8).digest()) % 20
    return "valid" if drawn == 0 else "test" if drawn == 1 else "train"


def asked(things: str, words: tuple[int, int], unit: str, longest: int | None = None) -> str:
    """What was asked for, in words, if there can be such lengths."""
    least, most = words
    what = f"{things} of {least} to {most} {unit}"
    if not 1 <= least <= most or (longest is not None and most > longest):
        limit = "from 1" if longest is None else f"from 1 to {longest}"
        raise UserError(f"{what} were asked for; words is [shortest, longest], {limit}")
    return what


def whole_number(random: Callable[[], float], lengths: tuple[int, int]) -> int:
    """Each number of digits is equally likely, then each number of so many; 0 has one."""
    least, most = lengths
    digits = least + int(random() * (most - least + 1))
    first = int(random() * 10) if digits == 1 else 1 + int(random() * 9)
    return int(f"{first}" + "".join(f"{int(random() * 10)}" for _ in range(digits - 1)))


def draw(one: Callable[[], Pair | None], count: int, split: str, what: str) -> Iterator[Pair]:
    """`count` pairs. `one` draws a pair, or None where what it drew is not the split's or does not fit.

    A held-out split has no source twice; it ends early where there is no other.
    """
    seen: set[str] = set()
    for _ in range(count):
        for _ in range(PATIENCE):
            pair = one()
            if pair is not None and pair.source not in seen:
                break
        else:
            if not seen:
                raise _nothing(what, split)
            return
        if split != "train":
            seen.add(pair.source)
        yield pair


def choose(
    load: Callable[[], Mapping[str, str]],
    fits: Callable[[str], bool],
    count: int,
    random: Random,
    split: str,
    what: str,
) -> Iterator[Pair]:
    """`count` of the split's sources that fit, with their targets, in random order, each once; all if fewer."""
    fitting = [pair for pair in _owned(load, split) if fits(pair[0])]
    if not fitting:
        raise _nothing(what, split)
    order = nsmallest(count, ((random.random(), *pair) for pair in fitting))
    return (Pair(source=source, target=target) for _, source, target in order)


@lru_cache
def _owned(load: Callable[[], Mapping[str, str]], split: str) -> list[tuple[str, str]]:
    return [(source, target) for source, target in load().items() if split_of(source) == split]


def _nothing(what: str, split: str) -> UserError:
    return UserError(f"found no {what} in the {split} split; widen the range")


def missing(task: str, package: str, extra: str) -> UserError:
    return UserError(f"task:{task} needs {package}: pip install 'saccade[{extra}]'")
