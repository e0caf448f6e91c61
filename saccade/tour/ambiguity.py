"""Ambiguous words of the phrasebook, by the distance of the word that decides them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from saccade.decode.search.options import Search
from saccade.decode.translator import Translator
from saccade.evaluation import AmbiguousWord, DistanceScores, by_distance
from saccade.tasks import Pair, Phrasebook


@dataclass(frozen=True, kw_only=True)
class AmbiguitySet:
    """Test sentences with a cue, and others in which a neutral word stands in its place: nothing decides there."""

    pairs: Sequence[Pair]
    control: Sequence[Pair]

    @classmethod
    def of(cls, book: Phrasebook, count: int, *, distance: tuple[int, int] = (1, 20), seed: int = 7) -> "AmbiguitySet":
        return cls(
            pairs=list(book.ambiguous(count, seed, distance=distance)),
            control=list(book.ambiguous(count, seed, distance=distance, cue="removed")),
        )

    def judge(self, translator: Translator, *, edges: Sequence[int] = (5, 10, 15, 20)) -> tuple[DistanceScores, ...]:
        control = {row.bucket: row.accuracy for row in _judge(translator, self.control, edges)}
        rows = _judge(translator, self.pairs, edges)
        return tuple(replace(row, control=control.get(row.bucket)) for row in rows)


def _judge(translator: Translator, pairs: Sequence[Pair], edges: Sequence[int]) -> tuple[DistanceScores, ...]:
    found = translator.translate([pair.source for pair in pairs], Search())
    return by_distance([one.text for one in found], [_item(pair) for pair in pairs], edges=tuple(edges))


def _item(pair: Pair) -> AmbiguousWord:
    sense = pair.sense
    assert sense is not None
    wrong = [form for name, forms in sense.forms.items() if name != sense.name for form in forms]
    return AmbiguousWord(right=sense.forms[sense.name], wrong=wrong, distance=sense.distance)
