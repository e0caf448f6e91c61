"""The set of ambiguous words: sentences with a cue, and control sentences without one."""

from typing import cast

from saccade.decode import Translator
from saccade.tasks import Phrasebook
from saccade.tour.run import AmbiguitySet


class Oracle:
    """Writes the reference, and nothing for a sentence that is not in the set."""

    def __init__(self, items: AmbiguitySet, *, also_control: bool) -> None:
        pairs = [*items.pairs, *(items.control if also_control else ())]
        self.known = {pair.source: pair.target for pair in pairs}

    def translate(self, texts: list[str], search: object) -> list[object]:
        class Written:
            def __init__(self, text: str) -> None:
                self.text = text

        return [Written(self.known.get(text, "")) for text in texts]


def test_references_score_one_and_empty_outputs_zero() -> None:
    items = AmbiguitySet(Phrasebook(source="en", target="fr"), 40)
    rows = items.judge(cast(Translator, Oracle(items, also_control=True)))
    assert sum(row.items for row in rows) == 40
    assert all(row.accuracy == 1.0 and row.chance == 0.5 for row in rows if row.items)
    rows = items.judge(cast(Translator, Oracle(items, also_control=False)))
    assert all(row.control in (0.0, None) for row in rows)


def test_the_control_has_as_many_sentences_without_cues() -> None:
    items = AmbiguitySet(Phrasebook(source="en", target="de"), 20, distance=(1, 12))
    assert len(items.pairs) == len(items.control) == 20
    assert all(pair.sense is not None and pair.sense.cue is not None for pair in items.pairs)
    assert all(pair.sense is not None and pair.sense.cue is None for pair in items.control)
    assert all(pair.sense is not None and 1 <= abs(pair.sense.distance) <= 12 for pair in items.pairs)
