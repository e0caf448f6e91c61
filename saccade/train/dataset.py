"""What a run trains and validates on: from a recipe's files or tasks to vocabularies and encoded pairs."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, islice, zip_longest
from pathlib import Path

from saccade import files
from saccade.data import (
    Corpus,
    ListedPairs,
    Mixture,
    PairSource,
    Selection,
    Split,
    Stream,
    TextPair,
    add_tag,
    cache_key,
    load_or_build,
    open_pairs,
)
from saccade.data.cache import TaskPairs
from saccade.data.sources import ReversedPairs
from saccade.decode import load_vocabularies
from saccade.errors import UserError
from saccade.text import Placeholders, Vocabularies, words
from saccade.text.subword_model import MOST_LINES
from saccade.train.recipe import Data, Ingredient

_LARGE = 1 << 30  # bytes of files from which on they are streamed, unless told otherwise
_LINES_OF_A_STREAM = 100_000  # to make a vocabulary from: its maker needs a kilobyte of memory for each

_LOOKED_AT = 1_000  # pairs, to see whether a borrowed vocabulary knows their pieces


@dataclass(frozen=True, kw_only=True)
class Dataset:
    vocabularies: Vocabularies
    corpus: Corpus | Mixture | Stream  # what batches are cut from
    valid: Sequence[TextPair]
    valid_corpus: Corpus
    longest_source: int  # words, of what was trained on
    digest: str  # of the training pairs
    notes: Sequence[str]  # what a person should know: what was left out, what was lowered


def load_dataset(data: Data, folder: Path, seed: int) -> Dataset:
    """Read, choose, hold out, train or borrow the vocabulary, encode; what is made is kept in `folder`/cache."""
    keep, ingredients = folder / "cache", data.ingredients
    sources = [_opened(one, data, keep) for one in ingredients]
    streams = data.streams or (data.streaming == "auto" and sum(source.size() for source in sources) > _LARGE)
    if not streams:
        sources = [source.in_memory() for source in sources]
    digest = cache_key(*(source.digest() for source in sources))
    key, selections = _selections(data, sources, seed, keep, digest)
    vocabularies = _vocabularies(data, selections, folder, streams)
    key = cache_key(key, vocabularies.hash, data.longest)
    corpus: Corpus | Mixture | Stream
    if streams:
        selections = [
            load_or_build(
                keep,
                f"{key}-stream-{place}",
                partial(selection.drop_long, vocabularies, data.longest, one.tag),
                partial(Selection.load, pairs=selection.pairs, cleaning=data.clean),
            )
            for place, (selection, one) in enumerate(zip(selections, ingredients, strict=True))
        ]
        corpus = Stream(
            selections,
            vocabularies,
            weights=[one.weight for one in ingredients],
            tags=[one.tag for one in ingredients],
            buffer=data.buffer,
            sampling=data.sampling,
        )
        reports = [selection.report() for selection in selections]
        longest = max(selection.longest_source for selection in selections)
    else:
        corpora = [
            load_or_build(
                keep,
                f"{key}-{place}",
                partial(Corpus.encode, selection, vocabularies, longest=data.longest, tag=one.tag),
                Corpus.load,
            )
            for place, (selection, one) in enumerate(zip(selections, ingredients, strict=True))
        ]
        weights = [one.weight for one in ingredients]
        corpus = corpora[0] if len(corpora) == 1 and weights == [1.0] else Mixture(corpora, weights)
        reports = [corpus.report for corpus in corpora]
        longest = max(_longest_source(corpus, vocabularies) for corpus in corpora)
    valid, valid_corpus = _valid(data, selections, vocabularies)
    notes = [f"{one}: {report}" for one, report in zip(ingredients, reports, strict=True)]
    if isinstance(corpus, Stream):
        notes.append(f"streamed: {corpus.windows:,} windows of {data.buffer:,} pairs an epoch")
    notes.append(f"validation: {valid_corpus.report}")
    sides = (vocabularies.source,) if vocabularies.joint else (vocabularies.source, vocabularies.target)
    notes += [side.note for side in sides if side.note]
    notes += _of_other_texts(data, vocabularies, selections)
    return Dataset(
        vocabularies=vocabularies,
        corpus=corpus,
        valid=valid,
        valid_corpus=valid_corpus,
        longest_source=longest,
        digest=digest,
        notes=notes,
    )


def _opened(one: Ingredient, data: Data, keep: Path) -> PairSource:
    """A task is drawn into a file, once: it is passed over like any other from then on."""
    if one.task is None:
        return one.open()
    count = one.count or data.count
    drawn = TaskPairs(draw=partial(one.drawn, "train", count, data.words))
    key = cache_key(one.task, count, repr(one.words or data.words))[:16]
    return load_or_build(keep, f"{key}-drawn", lambda: drawn, drawn.load).open(reverse=one.reverse)


def _selections(
    data: Data, sources: Sequence[PairSource], seed: int, keep: Path, digest: str
) -> tuple[str, list[Selection]]:
    """Which pairs are trained on and which are held out, and a name for that choice."""
    held_out = [data.valid is None and one.valid is None and one.task is None for one in data.ingredients]
    shape = (repr(data.clean), repr(held_out), repr([one.reverse for one in data.ingredients]))
    key = cache_key(digest, seed, data.valid_share, data.valid_most, *shape)

    @cache
    def chosen() -> list[Selection]:
        every = [Selection.of(source, data.clean) for source in sources]
        most = -(-data.valid_most // max(1, sum(held_out)))
        splits = [
            selection.split(seed=seed, share=data.valid_share, most=most) if some else Split(seed, frozenset())
            for selection, some in zip(every, held_out, strict=True)
        ]
        anywhere = frozenset[int]().union(*(split.held_out for split in splits)) if len(every) > 1 else frozenset[int]()
        if not any(held_out):
            return every
        return [one.hold_out(split, anywhere) for one, split in zip(every, splits, strict=True)]

    def of(place: int) -> Selection:
        return chosen()[place]

    return key, [
        load_or_build(
            keep,
            f"{key}-chosen-{place}",
            partial(of, place),
            partial(Selection.load, pairs=source, cleaning=data.clean),
        )
        for place, source in enumerate(sources)
    ]


def _valid(
    data: Data, selections: Sequence[Selection], vocabularies: Vocabularies
) -> tuple[Sequence[TextPair], Corpus]:
    """Those held out, drawn, or given; of several corpora by turns, so that the first ones are of all."""
    given = data.ingredients[0].open_valid() if not data.corpora else None
    if data.corpora and data.valid is not None:
        given = open_pairs(data.valid, data.valid_targets)  # with their tags
    if given is None:
        each = []
        for one, selection in zip(data.ingredients, selections, strict=True):
            count = min(data.valid_most, max(50, (one.count or data.count) // 20))
            own = one.open_valid() or _valid_of_task(one, data, count) or ListedPairs(selection.held_out)
            each.append([add_tag(pair, one.tag) for pair in own])
        given = ListedPairs([pair for turn in zip_longest(*each) for pair in turn if pair is not None])
    chosen = Selection.of(given.in_memory())
    try:
        corpus = Corpus.encode(chosen, vocabularies, longest=data.longest)
    except UserError as error:
        raise UserError(f"validation: {error}") from None
    pairs = dict(chosen.selected())
    return [pairs[line] for line in corpus.lines.tolist()], corpus


def _valid_of_task(one: Ingredient, data: Data, count: int) -> PairSource | None:
    if one.task is None:
        return None
    drawn = ListedPairs([TextPair(pair.source, pair.target) for pair in one.drawn("valid", count, data.words)])
    return ReversedPairs(drawn) if one.reverse else drawn


def _longest_source(corpus: Corpus, vocabularies: Vocabularies) -> int:
    """In words; looked for among the sources of most pieces, so that a large corpus costs no more than a small one."""
    longest_sides = corpus.source.lengths.argsort()[-100:].tolist()
    return max(len(words(vocabularies.source.decode(corpus.source(i).tolist()))) for i in longest_sides)


@dataclass(frozen=True)
class _Kept:
    """The pairs of several corpora that are trained on; they can be gone through again."""

    selections: Sequence[Selection]

    def __iter__(self) -> Iterator[TextPair]:
        return (pair for _, pair in chain.from_iterable(selection.selected() for selection in self.selections))


def _vocabularies(data: Data, selections: Sequence[Selection], folder: Path, streams: bool) -> Vocabularies:
    """Of this run where it has one already; else another model's, or made of the training pairs; kept with the run."""
    kept = folder / "vocabulary"
    files.recover(kept)
    if any(kept.glob("*.model")):
        return Vocabularies.load(kept)
    if data.vocab_from is None:
        made = Vocabularies.train(
            _Kept(selections),
            data.vocabulary,
            data.target_vocabulary,
            joint=data.joint,
            tags=data.tags,
            placeholders=Placeholders(data.placeholders) if data.placeholders else None,
            most_lines=data.vocab_lines or (_LINES_OF_A_STREAM if streams else MOST_LINES),
        )
    else:
        made = _borrowed(data, Path(data.vocab_from))
    made = made.towards(right_to_left=data.right_to_left)
    with files.atomic_folder(kept) as new:
        made.save(new)
    return made


def _of_other_texts(data: Data, vocabularies: Vocabularies, selections: Sequence[Selection]) -> list[str]:
    """A warning for each side of which a borrowed vocabulary knows less than half."""
    if data.vocab_from is None:
        return []
    pairs = list(islice(_Kept(selections), _LOOKED_AT))
    shares = {
        "sources": vocabularies.source.unknown_share(pair.source for pair in pairs),
        "targets": vocabularies.target.unknown_share(pair.target for pair in pairs),
    }
    return [
        f"warning: the vocabulary of {data.vocab_from} does not know {unknown:.0%} of the pieces of these {side}; was "
        "it made for another language? Without --init-from and --vocab-from, one is made from these pairs"
        for side, unknown in shares.items()
        if unknown is not None and unknown > 0.5
    ]


def _borrowed(data: Data, place: Path) -> Vocabularies:
    if not place.is_dir():
        raise UserError(f"data.vocab_from: {place} is not a model folder")
    found = load_vocabularies(place)
    for tag in data.tags:
        if tag not in found.source.tags:
            there = ", ".join(found.source.tags) or "none"
            raise UserError(f"data.vocab_from: the vocabulary of {place} has no tag {tag}; its tags: {there}")
    if data.placeholders and (found.placeholders is None or found.placeholders.kinds != data.placeholders):
        there = "none" if found.placeholders is None else ", ".join(found.placeholders.kinds)
        raise UserError(f"data.vocab_from: the vocabulary of {place} has other placeholders: {there}")
    return found
