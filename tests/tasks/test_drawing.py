from collections import Counter

import pytest

from saccade.tasks import Sense
from saccade.tasks.drawing import generator, split_of
from saccade.tasks.numbers import draw_number

SENSE = Sense(
    word="mole",
    name="body",
    source=1,
    target=(1, 2, 3),
    forms={"animals": ("taupe", "taupes"), "body": ("grain de beauté", "grains de beauté")},
    distance=3,
    cue="bones",
)


def test_split_of_gives_one_in_twenty_to_valid_and_test() -> None:
    shares = Counter(split_of(str(i)) for i in range(20_000))
    assert abs(shares["valid"] - 1000) < 120 and abs(shares["test"] - 1000) < 120
    assert set(shares) == {"train", "valid", "test"}


def test_draw_number_has_the_requested_digits() -> None:
    random = generator("x", split="train").random
    numbers = [draw_number(random, (1, 20)) for _ in range(4000)]
    sizes = Counter(len(str(number)) for number in numbers)
    assert set(sizes) == set(range(1, 21)) and min(sizes.values()) > 120
    assert set(range(10)) <= set(numbers)
    assert {str(number)[-1] for number in numbers if number > 10**18} == set("0123456789")


@pytest.mark.parametrize("split", ["train", "valid"])
def test_generator_depends_on_the_request(split: str) -> None:
    first = generator("x", 1, split, split=split).random()
    assert first == generator("x", 1, split, split=split).random() != generator("x", 2, split, split=split).random()


def test_sense_reads_the_chosen_sense() -> None:
    assert SENSE.read("il voit le grain de beauté.") == "body"
    assert SENSE.read("il voit les taupes.") == "animals"


def test_sense_reads_none_from_neither_or_both() -> None:
    assert SENSE.read("il voit le chien.") is None
    assert SENSE.read("la taupe et le grain de beauté") is None
    assert SENSE.read("une taupette") is None


def test_sense_reads_chinese_by_character() -> None:
    sense = Sense(
        word="bank",
        name="finance",
        source=0,
        target=(0, 1),
        forms={"finance": ("银行",), "water": ("河岸",)},
        distance=1,
        cue="x",
    )
    assert sense.read("我看见了银行。") == "finance"
    assert sense.read("我看见了河岸。") == "water"
