"""The laws of every built-in task."""

import subprocess
import sys
from functools import lru_cache
from itertools import islice

import pytest

from saccade.errors import UserError
from saccade.tasks import SPLITS, TASKS, Pair, task
from saccade.text import Tokeniser, words

# The lengths of a pair, by `Task.unit`.
UNITS = {
    "words": lambda pair: [len(words(pair.source))],
    "letters": lambda pair: [len(pair.source.split(" "))],
    "characters": lambda pair: [len(pair.source)],
    "digits": lambda pair: [
        len(number) for number in (pair.source if pair.source[0].isdecimal() else pair.target).split("+")
    ],
}
NARROW = {"words": (5, 7), "letters": (4, 5), "characters": (6, 7), "digits": (3, 4)}
# One task of each kind; the others, which are the same code with other words or need an extra, are slow tests.
QUICK = (
    "phrasebook-en-fr",
    "phrasebook-zh-de",
    "dates",
    "g2p",
    "numbers-fr",
    "figures-zh",
    "reverse",
    "sort",
    "addition",
    "sentiment",
    "entities",
)
every_task = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in TASKS]
)


@lru_cache(None)
def drawn(name: str, count: int = 60, seed: int = 1, split: str = "train") -> list[Pair]:
    return list(task(name).pairs(count, seed, split))


@every_task
def test_the_same_request_gives_the_same_pairs(name: str) -> None:
    assert drawn(name) == list(task(name).pairs(60, 1))
    assert drawn(name) != drawn(name, seed=2)
    assert drawn(name) != drawn(name, split="test")


def test_another_process_gives_the_same_pairs() -> None:
    names = ["dates", "numbers-fr", "sort", "addition"]
    code = f"from saccade.tasks import task\nfor n in {names}: print([p.source for p in task(n).pairs(20, 3)])"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.splitlines() == [str([p.source for p in task(n).pairs(20, 3)]) for n in names]


@every_task
def test_a_shorter_request_is_the_beginning_of_a_longer_one(name: str) -> None:
    assert drawn(name, count=10) == drawn(name, count=30)[:10]


@every_task
def test_splits_share_no_source_whatever_the_seed(name: str) -> None:
    sources = {split: {p.source for seed in (1, 2) for p in drawn(name, 200, seed, split)} for split in SPLITS}
    assert all(sources.values())
    assert sources["train"].isdisjoint(sources["valid"] | sources["test"])
    assert sources["valid"].isdisjoint(sources["test"])


@every_task
def test_one_source_has_one_target(name: str) -> None:
    targets: dict[str, str] = {}
    for split in SPLITS:
        for pair in drawn(name, 200, split=split):
            assert targets.setdefault(pair.source, pair.target) == pair.target


@every_task
def test_a_task_gives_the_requested_number_of_pairs(name: str) -> None:
    for count in (0, 1, 60):
        assert len(drawn(name, count)) == count
    known = task(name)
    if known.finite:
        all_pairs = drawn(name, 10**9, split="valid")
        assert 1000 < len(all_pairs) < 10**5
        assert len({pair.source for pair in all_pairs}) == len(all_pairs)
        assert {pair.source for pair in drawn(name, 10**9, seed=2, split="valid")} == {p.source for p in all_pairs}


@every_task
def test_lengths_are_within_the_range(name: str) -> None:
    known = task(name)
    default, narrow = drawn(name, 200), list(task(name).pairs(60, 1, words=NARROW[known.unit]))
    assert len(narrow) == 60
    for pairs, (least, most) in ((default, known.words), (narrow, NARROW[known.unit])):
        assert all(least <= length <= most for pair in pairs for length in UNITS[known.unit](pair))
    assert default[:20] == list(task(name).pairs(20, 1, words=known.words))  # by default


@every_task
def test_links_join_existing_words(name: str) -> None:
    aligned = [pair.alignment is not None for pair in drawn(name)]
    assert all(aligned) or not any(aligned)
    for pair in drawn(name):
        links = pair.alignment or ()
        assert list(links) == sorted(set(links))
        assert all(0 <= i < len(words(pair.source)) and 0 <= j < len(words(pair.target)) for i, j in links)


@every_task
def test_the_suggested_vocabulary_keeps_all_texts(name: str) -> None:
    known = task(name)
    texts = [text for pair in drawn(name, 200) for text in (pair.source, pair.target)]
    pieces = Tokeniser.train(texts, kind=known.pieces, size=2000)
    for text in texts:
        assert text == text.strip() and text and "\n" not in text and "\t" not in text
        assert pieces.decode(pieces.encode(text)) == text


@every_task
def test_impossible_requests_are_refused(name: str) -> None:
    with pytest.raises(UserError, match="split is 'dev'; expected one of train, valid, test"):
        task(name).pairs(1, 1, split="dev")
    with pytest.raises(UserError, match="7 to 5"):
        task(name).pairs(1, 1, words=(7, 5))


@pytest.mark.parametrize(("name", "range_"), [("dates", (60, 70)), ("g2p", (40, 50)), ("numbers-en", (9, 10))])
def test_a_range_without_pairs_is_refused(name: str, range_: tuple[int, int]) -> None:
    with pytest.raises(UserError, match=f"{range_[0]} to {range_[1]}"):
        list(task(name).pairs(1, 1, words=range_))


def test_a_held_out_split_ends_without_another_source() -> None:
    few = [pair.source for pair in task("numbers-en").pairs(1000, 1, "test", words=(1, 2))]
    assert 1 <= len(few) < 15 and len(set(few)) == len(few)
    assert len(list(islice(task("numbers-en").pairs(1000, 1, words=(1, 2)), 1000))) == 1000


def test_tasks_state_the_origin_of_their_data() -> None:
    for known in TASKS.values():
        assert known.summary and known.origin and known.unit in UNITS
