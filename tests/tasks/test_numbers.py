from saccade.tasks import Numbers
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
