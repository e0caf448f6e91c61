"""The phrasebook as a task: pairs of sentences with their word alignment, by length, split and distance of a cue."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from saccade.errors import UserError
from saccade.tasks.drawing import generator
from saccade.tasks.pair import Pair, Sense
from saccade.tasks.phrasebook import tree
from saccade.tasks.phrasebook.chinese import Chinese
from saccade.tasks.phrasebook.english import English
from saccade.tasks.phrasebook.french import French
from saccade.tasks.phrasebook.german import German
from saccade.tasks.phrasebook.homograph import Draft, draft, is_feasible
from saccade.tasks.phrasebook.lexicon import Noun, lexicon
from saccade.tasks.phrasebook.sampler import Sampler
from saccade.tasks.phrasebook.split import combinations, split_of
from saccade.tasks.phrasebook.tree import Sentence
from saccade.tasks.phrasebook.writer import Token, Writer, align, positions, spell

WRITERS: dict[str, Callable[[], Writer]] = {"en": English, "fr": French, "de": German, "zh": Chinese}
WORDS_PER_ENGLISH_WORD = {"en": 1.0, "fr": 1.05, "de": 1.03, "zh": 1.65}
CUES = ("before", "after", "either", "removed")
AMBIGUOUS_SHARE = 0.2  # of the sentences with room for a word and its cue
AMBIGUOUS_ROOM = 8
PATIENCE = 20_000  # sentences drawn without one that fits, after which the request fails


@dataclass(frozen=True, kw_only=True)
class Phrasebook:
    """Sentences of a synchronous grammar in two of the languages en, fr, de, zh."""

    source: str
    target: str

    def __post_init__(self) -> None:
        for language in (self.source, self.target):
            if language not in WRITERS:
                raise UserError(f"phrasebook has no language {language!r}; it has {', '.join(WRITERS)}")
        if self.source == self.target:
            raise UserError(f"phrasebook translates between two languages, not from {self.source} to {self.target}")

    def pairs(self, count: int, seed: int, split: str = "train", words: tuple[int, int] = (3, 20)) -> Iterator[Pair]:
        """`count` pairs whose sources have `words[0]` to `words[1]` words, including the full stop; each length is
        about equally likely.

        Of the sentences with eight English words or more, one in five has an ambiguous word with its cue.
        """
        least, most = words
        if not 1 <= least <= most or most < 3:
            raise UserError(f"phrasebook cannot make sentences of {least} to {most} words; the shortest have 3")
        random = generator(self.source, self.target, "pairs", seed, split, words, split=split)
        return self._pairs(count, Sampler(split, random.random), split, words)

    def _pairs(self, count: int, sampler: Sampler, split: str, words: tuple[int, int]) -> Iterator[Pair]:
        least, most = words
        for _ in range(count):
            wanted = least + int(sampler.random() * (most - least + 1))
            length = max(3, round(wanted / WORDS_PER_ENGLISH_WORD[self.source]))
            ambiguous = length >= AMBIGUOUS_ROOM and sampler.chance(AMBIGUOUS_SHARE)
            for attempt in range(PATIENCE):
                if attempt and attempt % 50 == 0:  # try English lengths nearby
                    length = max(3, round(wanted / WORDS_PER_ENGLISH_WORD[self.source]) + sampler.pick((-1, 0, 1, 2)))
                    ambiguous = ambiguous and length >= AMBIGUOUS_ROOM
                drafted = None
                if ambiguous:
                    distance = (1 + int(sampler.random() * (length - 6))) * sampler.pick((-1, 1))
                    drafted = draft(sampler, distance if is_feasible(distance) else -distance, length)
                    self._choose_sense(sampler, drafted)
                sentence = drafted.sentence if drafted else sampler.sentence(length)
                if _belongs(sentence, split):
                    tokens = WRITERS[self.source]().sentence(sentence)
                    if least <= len(tokens) <= most:
                        yield self._pair(sentence, tokens, drafted)
                        break
            else:
                raise UserError(f"found no {self.source} sentence of {least} to {most} words; widen the range")

    def ambiguous(
        self, count: int, seed: int, split: str = "test", distance: tuple[int, int] = (1, 20), cue: str = "either"
    ) -> Iterator[Pair]:
        """`count` pairs with an ambiguous word whose cue is `distance[0]` to `distance[1]` words before or after it.

        All possible distances are equally likely: 1, 3, 4, … before, 2, 4, 5, … after. With the cue "removed", a
        neutral word replaces it, and both senses are equally right.
        """
        if self.source != "en":
            raise UserError(f"phrasebook's ambiguous words are English; translate from en, not from {self.source}")
        if cue not in CUES:
            raise UserError(f"cue is {cue!r}; expected one of {', '.join(CUES)}")
        sides = {"before": (-1,), "after": (1,)}.get(cue, (-1, 1))
        near, far = distance
        wanted = [[side * d for side in sides if is_feasible(side * d)] for d in range(max(near, 1), far + 1)]
        if not (wanted := [choice for choice in wanted if choice]):
            raise UserError(
                f"no cue can be {near} to {far} words {cue} its word; before: 1, 3, 4, …; after: 2, 4, 5, …"
            )
        random = generator(self.source, self.target, "ambiguous", seed, split, distance, cue, split=split)
        return self._ambiguous(count, Sampler(split, random.random), split, wanted, cue == "removed")

    def _ambiguous(
        self, count: int, sampler: Sampler, split: str, wanted: list[list[int]], removed: bool
    ) -> Iterator[Pair]:
        for _ in range(count):
            distance = sampler.pick(sampler.pick(wanted))
            for _ in range(PATIENCE):
                drafted = draft(sampler, distance)
                if not _belongs(drafted.sentence, split):
                    continue
                self._choose_sense(sampler, drafted, removed)
                tokens = English().sentence(drafted.sentence)
                if _distance(tokens, drafted) == distance:
                    yield self._pair(drafted.sentence, tokens, drafted, removed)
                    break
            else:
                raise UserError(f"found no sentence with its cue {abs(distance)} words away; use a smaller distance")

    def _choose_sense(self, sampler: Sampler, drafted: Draft, removed: bool = False) -> None:
        words = lexicon()
        senses = words.homographs[drafted.word.noun.name]
        sense = senses[sampler.random() < 0.5]
        drafted.choose_sense(sense, "neutral" if removed else words.sense_of[sense], sampler.random())

    def _pair(self, sentence: Sentence, source: list[Token], drafted: Draft | None, removed: bool = False) -> Pair:
        target = WRITERS[self.target]().sentence(sentence)
        sense = self._sense(source, target, drafted, removed) if drafted and self.source == "en" else None
        texts = {"source": spell(source, self.source), "target": spell(target, self.target)}
        return Pair(**texts, alignment=align(source, target), sense=sense)

    def _sense(self, source: list[Token], target: list[Token], drafted: Draft, removed: bool) -> Sense:
        words = lexicon()
        number = drafted.word.key + tree.NOUN
        (where,) = positions(source, number)
        (cue,) = positions(source, drafted.cue_number)
        noun = drafted.word.noun
        return Sense(
            word=noun.name,
            name=words.sense_of[noun],
            source=where,
            target=positions(target, number),
            forms={words.sense_of[sense]: self.forms(sense) for sense in words.homographs[noun.name]},
            distance=cue - where,
            cue=None if removed else source[cue][0],
        )

    def forms(self, noun: Noun) -> tuple[str, ...]:
        """Every form of a noun in the target language."""
        german = (*noun.german[0], *noun.german[1])
        by_language = {"en": noun.english, "fr": noun.french, "de": german, "zh": (noun.chinese,)}
        return tuple(dict.fromkeys(by_language[self.target]))


def _distance(tokens: list[Token], drafted: Draft) -> int:
    return positions(tokens, drafted.cue_number)[0] - positions(tokens, drafted.word.key + tree.NOUN)[0]


def _belongs(sentence: Sentence, split: str) -> bool:
    """The sampler draws no combination that is reserved for another split; a held-out split needs one of its own."""
    return split == "train" or any(split_of(*combination) == split for combination in combinations(sentence))
