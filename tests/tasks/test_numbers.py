from saccade.tasks import SPLITS, Addition, Numbers
from saccade.tasks.spelling import SPELLERS


def test_both_directions_have_the_same_numbers_and_splits() -> None:
    for split in ("train", "test"):
        of = {
            (language, back): list(Numbers(language=language, to_figures=back).pairs(100, 1, split))
            for language in SPELLERS
            for back in (False, True)
        }
        for language, spell in SPELLERS.items():
            for there, back in zip(of[language, False], of[language, True]):
                assert (there.source, there.target) == (back.target, back.source)
                assert spell(int(there.source)) == there.target
        assert len({tuple(pair.source for pair in of[language, False]) for language in SPELLERS}) == 1


def test_addition_gives_the_sum() -> None:
    for pair in Addition().pairs(500, 1, words=(1, 25)):
        a, b = pair.source.split("+")
        assert int(a) + int(b) == int(pair.target)
        assert str(int(a)) == a and str(int(b)) == b


def test_addition_keeps_both_orders_in_one_split() -> None:
    sums = {
        split: {frozenset(p.source.split("+")) for p in Addition().pairs(300, 1, split, words=(1, 2))}
        for split in SPLITS
    }
    assert sums["train"].isdisjoint(sums["test"] | sums["valid"]) and sums["valid"].isdisjoint(sums["test"])
    assert {pair.source for pair in Addition().pairs(1000, 1, words=(1, 1))} >= {"1+2", "2+1"}
