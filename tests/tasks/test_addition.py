from saccade.tasks import SPLITS, Addition


def test_sums_are_right() -> None:
    for pair in Addition().pairs(500, 1, words=(1, 25)):
        a, b = pair.source.split("+")
        assert int(a) + int(b) == int(pair.target)
        assert str(int(a)) == a and str(int(b)) == b


def test_numbers_the_other_way_round_are_no_new_sum() -> None:
    sums = {
        split: {frozenset(p.source.split("+")) for p in Addition().pairs(300, 1, split, words=(1, 2))}
        for split in SPLITS
    }
    assert sums["train"].isdisjoint(sums["test"] | sums["valid"]) and sums["valid"].isdisjoint(sums["test"])
    assert {pair.source for pair in Addition().pairs(1000, 1, words=(1, 1))} >= {"1+2", "2+1"}
