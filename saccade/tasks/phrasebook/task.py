"""The phrasebook as a task: pairs of sentences with their word alignment, by length, split and distance of a cue."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from saccade.errors import UserError
from saccade.tasks.drawing import LANGUAGES, PATIENCE, Lengths, Pair, Sense, Task, generator
from saccade.tasks.phrasebook.chinese import Chinese
from saccade.tasks.phrasebook.english import English
from saccade.tasks.phrasebook.everyday import everyday_sentences
from saccade.tasks.phrasebook.french import French
from saccade.tasks.phrasebook.german import German
from saccade.tasks.phrasebook.homograph import Draft, is_feasible, make_draft
from saccade.tasks.phrasebook.lexicon import Noun, lexicon
from saccade.tasks.phrasebook.sampler import Sampler
from saccade.tasks.phrasebook.tree import Sentence
from saccade.tasks.phrasebook.writer import Token, Writer, align, positions, spell

WRITERS: dict[str, Callable[[], Writer]] = {"en": English, "fr": French, "de": German, "zh": Chinese}
WORDS_PER_ENGLISH_WORD = {"en": 1.0, "fr": 1.05, "de": 1.03, "zh": 1.65}
CUES = {"before": (-1,), "after": (1,), "either": (-1, 1), "removed": (-1, 1)}  # with the sides of the word
AMBIGUOUS_SHARE = 0.2  # of the sentences with room for a word and its cue
AMBIGUOUS_ROOM = 8
EVERYDAY_PERIOD = 16  # of so many training pairs, one is an everyday sentence


@dataclass(frozen=True, kw_only=True)
class Phrasebook(Task):
    """Sentences of a synchronous grammar in two of the languages en, fr, de, zh."""

    source: str
    target: str
    everyday: bool = False  # whether everyday sentences are among the training pairs

    words, pieces = (3, 20), "unigram"
    origin = "a grammar and word lists of Saccade's own (Apache-2.0)"

    def __post_init__(self) -> None:
        for language in (self.source, self.target):
            if language not in WRITERS:
                raise UserError(f"phrasebook has no language {language!r}; it has {', '.join(WRITERS)}")
        if self.source == self.target:
            raise UserError(f"phrasebook translates between two languages, not from {self.source} to {self.target}")
        if self.everyday and self.source != "en":  # je t'aime is both I like you and I love you
            raise UserError(f"phrasebook's everyday sentences are learnt from English, not from {self.source}")

    @property
    def summary(self) -> str:
        return f"{LANGUAGES[self.source]} to {LANGUAGES[self.target]}" + ", with everyday sentences" * self.everyday

    def pairs(self, count: int, seed: int, split: str = "train", words: Lengths | None = None) -> Iterator[Pair]:
        """`count` pairs whose sources have `words[0]` to `words[1]` words, including the full stop; each length is
        about equally likely.

        Of the sentences with eight English words or more, one in five has an ambiguous word with its cue.
        """
        least, most = words = words or self.words
        if not 1 <= least <= most or most < 3:
            raise UserError(f"phrasebook cannot make sentences of {least} to {most} words; the shortest have 3")
        random = generator(self.source, self.target, "pairs", seed, split, words, split=split)
        error = UserError(f"found no {self.source} sentence of {least} to {most} words; widen the range")
        return self._pairs(count, random, split, words, error)

    def _pairs(self, count: int, random: Random, split: str, words: Lengths, error: UserError) -> Iterator[Pair]:
        sampler = Sampler(split, random.random)
        everyday = self._everyday_within(words) if self.everyday and split == "train" else []
        for place in range(count):
            turn, rest = divmod(place, EVERYDAY_PERIOD)
            is_everyday = everyday and rest == EVERYDAY_PERIOD - 1
            yield everyday[turn % len(everyday)] if is_everyday else self._draw(sampler, *words, error)

    def _everyday_within(self, words: Lengths) -> list[Pair]:
        lengths = [len(tokens) for tokens in everyday_sentences(self.source)]
        pairs = zip(self.everyday_pairs(), lengths, strict=True)
        return [pair for pair, length in pairs if words[0] <= length <= words[1]]

    def everyday_pairs(self) -> list[Pair]:
        """All everyday sentences, with their alignment. Those that `saccade try` shows come first."""
        return [
            Pair(source=spell(source, self.source), target=spell(target, self.target), alignment=align(source, target))
            for source, target in zip(everyday_sentences(self.source), everyday_sentences(self.target), strict=True)
        ]

    def _draw(self, sampler: Sampler, least: int, most: int, error: UserError) -> Pair:
        wanted = least + int(sampler.random() * (most - least + 1))
        usual = round(wanted / WORDS_PER_ENGLISH_WORD[self.source])
        length = max(3, usual)
        ambiguous = length >= AMBIGUOUS_ROOM and sampler.chance(AMBIGUOUS_SHARE)
        for attempt in range(PATIENCE):
            if attempt and attempt % 50 == 0:  # try English lengths nearby
                length = max(3, usual + sampler.pick((-1, 0, 1, 2)))
                ambiguous = ambiguous and length >= AMBIGUOUS_ROOM
            draft = None
            if ambiguous:
                distance = (1 + int(sampler.random() * (length - 6))) * sampler.pick((-1, 1))
                draft = make_draft(sampler, distance if is_feasible(distance) else -distance, length)
                _choose_sense(sampler, draft)
            sentence = draft.sentence if draft else sampler.sentence(length)
            if sampler.belongs(sentence):
                tokens = WRITERS[self.source]().sentence(sentence)
                if least <= len(tokens) <= most:
                    return self._pair(sentence, tokens, draft)
        raise error

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
        near, far = distance
        signed = [[side * d for side in CUES[cue] if is_feasible(side * d)] for d in range(max(near, 1), far + 1)]
        if not (wanted := [choice for choice in signed if choice]):
            raise UserError(
                f"no cue can be {near} to {far} words {cue} its word; before: 1, 3, 4, …; after: 2, 4, 5, …"
            )
        random = generator(self.source, self.target, "ambiguous", seed, split, distance, cue, split=split)
        sampler = Sampler(split, random.random)
        return (self._draw_ambiguous(sampler, wanted, cue == "removed") for _ in range(count))

    def _draw_ambiguous(self, sampler: Sampler, wanted: list[list[int]], removed: bool) -> Pair:
        distance = sampler.pick(sampler.pick(wanted))
        for _ in range(PATIENCE):
            draft = make_draft(sampler, distance)
            if sampler.belongs(draft.sentence):
                _choose_sense(sampler, draft, removed)
                tokens = English().sentence(draft.sentence)
                if _positions(tokens, draft)[1] == distance:
                    return self._pair(draft.sentence, tokens, draft, removed)
        raise UserError(f"found no sentence with its cue {abs(distance)} words away; use a smaller distance")

    def _pair(self, sentence: Sentence, source: list[Token], draft: Draft | None, removed: bool = False) -> Pair:
        target = WRITERS[self.target]().sentence(sentence)
        texts = {"source": spell(source, self.source), "target": spell(target, self.target)}
        sense = None
        if draft and self.source == "en":
            domains, noun = lexicon().sense_of, draft.word.noun
            place, distance = _positions(source, draft)
            sense = Sense(
                word=noun.name,
                name=domains[noun],
                source=place,
                target=positions(target, (draft.word, "noun")),
                forms={domains[sense]: self.forms(sense) for sense in lexicon().homographs[noun.name]},
                distance=distance,
                cue=None if removed else source[place + distance][0],
            )
        return Pair(**texts, alignment=align(source, target), sense=sense)

    def forms(self, noun: Noun) -> tuple[str, ...]:
        """Every form of a noun in the target language."""
        german = (*noun.german[0], *noun.german[1])
        by_language = {"en": noun.english, "fr": noun.french, "de": german, "zh": (noun.chinese,)}
        return tuple(dict.fromkeys(by_language[self.target]))


def _choose_sense(sampler: Sampler, draft: Draft, removed: bool = False) -> None:
    sense = lexicon().homographs[draft.word.noun.name][sampler.random() < 0.5]
    draft.choose_sense(sense, "neutral" if removed else lexicon().sense_of[sense], sampler.random())


def _positions(tokens: list[Token], draft: Draft) -> tuple[int, int]:
    """The position of the ambiguous word, and the distance from it to its cue."""
    (word,), (cue,) = positions(tokens, (draft.word, "noun")), positions(tokens, draft.cue_meaning)
    return word, cue - word
