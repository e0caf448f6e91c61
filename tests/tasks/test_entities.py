"""`entities`: names by their syllables, kinds by their context, one tag per word."""

import re
from collections import Counter

from saccade.tasks import Pair, task


def drawn(split: str = "train", count: int = 400) -> list[Pair]:
    return list(task("entities").pairs(count, 1, split))


def tagged(pairs: list[Pair]) -> list[tuple[str, str]]:
    return [item for pair in pairs for item in zip(pair.source.split(), pair.target.split(), strict=True)]


def test_every_word_has_a_tag_and_an_entity_continues_one_of_its_kind() -> None:
    for pair in drawn():
        tags = pair.target.split()
        assert len(tags) == len(pair.source.split())
        for before, tag in zip(["O", *tags], tags):
            assert not tag.startswith("I-") or before == f"B-{tag[2:]}"
    assert {tag for _, tag in tagged(drawn())} == {
        "O",
        *(f"{part}-{kind}" for part in "BI" for kind in ("PER", "LOC", "ORG")),
    }


def test_names_of_the_test_split_never_occur_in_training() -> None:
    names = {split: {word for word, tag in tagged(drawn(split)) if tag.startswith("B-")} for split in ("train", "test")}
    assert len(names["test"]) > 300 and names["test"].isdisjoint(names["train"])


def test_a_name_may_be_of_any_kind() -> None:
    kinds = Counter((word[:3], tag) for word, tag in tagged(drawn(count=2000)) if tag.startswith("B-"))
    starts = {start for start, _ in kinds}
    shared = [start for start in starts if {kind for s, kind in kinds if s == start} == {"B-PER", "B-LOC", "B-ORG"}]
    assert len(shared) > 0.8 * len(starts)


def test_one_sentence_by_hand() -> None:
    pattern = r"(\w+) was covered in snow for a week \."
    (match, tags) = next((found, p.target) for p in drawn() if (found := re.fullmatch(pattern, p.source)))
    assert match[1][0].isupper() and tags == "B-LOC O O O O O O O O"
