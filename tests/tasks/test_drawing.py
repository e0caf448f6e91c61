from collections import Counter

import pytest

from saccade.tasks.drawing import generator, split_of, whole_number


def test_split_of_gives_one_in_twenty_to_valid_and_test() -> None:
    shares = Counter(split_of(str(i)) for i in range(20_000))
    assert abs(shares["valid"] - 1000) < 120 and abs(shares["test"] - 1000) < 120
    assert set(shares) == {"train", "valid", "test"}


def test_whole_number_has_the_requested_digits() -> None:
    random = generator("x", split="train").random
    numbers = [whole_number(random, (1, 20)) for _ in range(4000)]
    sizes = Counter(len(str(number)) for number in numbers)
    assert set(sizes) == set(range(1, 21)) and min(sizes.values()) > 120
    assert set(range(10)) <= set(numbers)
    assert {str(number)[-1] for number in numbers if number > 10**18} == set("0123456789")


@pytest.mark.parametrize("split", ["train", "valid"])
def test_generator_depends_on_the_request(split: str) -> None:
    first = generator("x", 1, split, split=split).random()
    assert first == generator("x", 1, split, split=split).random() != generator("x", 2, split, split=split).random()
