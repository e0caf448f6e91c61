"""Ambiguous words of the phrasebook, by the distance of their cue."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from saccade.decode.options import Search
from saccade.decode.translator import Translator
from saccade.evaluation import AmbiguousWord, DistanceScores, by_distance
from saccade.tasks import Pair, Phrasebook


@dataclass(frozen=True, kw_only=True)
class AmbiguitySet:
    """Test sentences with a cue, and control sentences with a neutral word in its place."""

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
    translations = translator.translate([pair.source for pair in pairs], Search())
    return by_distance([t.text for t in translations], [_ambiguous_word(pair) for pair in pairs], edges=tuple(edges))


def _ambiguous_word(pair: Pair) -> AmbiguousWord:
    sense = pair.sense
    assert sense is not None
    wrong = [form for name, forms in sense.forms.items() if name != sense.name for form in forms]
    return AmbiguousWord(right=sense.forms[sense.name], wrong=wrong, distance=sense.distance)
