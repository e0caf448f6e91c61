"""What a run trains and validates on: from a recipe's files or task to vocabularies and encoded pairs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from saccade import files, tasks
from saccade.data import Corpus, PairFiles, Split, TextPair, cache_key, cached
from saccade.errors import UserError
from saccade.text import HasTexts, Vocabularies, words
from saccade.train.recipe import Data


@dataclass(frozen=True, kw_only=True)
class Material:
    vocabularies: Vocabularies
    corpus: Corpus
    valid: Sequence[HasTexts]
    valid_corpus: Corpus
    longest_source: int  # words, of what was trained on
    notes: Sequence[str]  # what a person should know: what was left out, what was lowered


def load_material(data: Data, folder: Path, seed: int) -> Material:
    """Read, hold out, train or borrow the vocabulary, encode; encoded files are kept in `folder`/cache."""
    given = PairFiles(data.pairs, data.targets) if data.task is None else None
    pairs: Iterable[HasTexts] = given or _drawn(data, "train", data.count)
    held_out = None
    valid: list[HasTexts]
    if data.valid is not None:
        valid = list(PairFiles(data.valid, data.valid_targets))
    elif given is None:
        valid = _drawn(data, "valid", min(data.valid_most, max(50, data.count // 20)))
    else:
        held_out = Split.of(given, seed=seed, share=data.valid_share, most=data.valid_most, name=str(given))
        valid = list(held_out.validation(given))
    training = pairs if held_out is None else held_out.training(pairs)
    vocabularies = _vocabularies(data, training, folder)

    def encode() -> Corpus:
        return Corpus.encode(pairs, vocabularies, longest=data.longest, without=held_out)

    if given is None:
        corpus = encode()
    else:
        key = cache_key(given.digest(), vocabularies.hash, data.longest, held_out.hash if held_out else None)
        corpus = cached(folder / "cache", key, encode)
    try:
        valid_corpus = Corpus.encode(valid, vocabularies, longest=data.longest)
    except UserError as error:
        raise UserError(f"validation: {error}") from None
    valid = [valid[line - 1] for line in valid_corpus.lines.tolist()]
    notes = [f"{data.pairs}: {corpus.report}", f"validation: {valid_corpus.report}"]
    sides = (vocabularies.source,) if vocabularies.joint else (vocabularies.source, vocabularies.target)
    notes += [side.note for side in sides if side.note]
    return Material(
        vocabularies=vocabularies,
        corpus=corpus,
        valid=valid,
        valid_corpus=valid_corpus,
        longest_source=_longest_source(corpus, vocabularies),
        notes=notes,
    )


def _longest_source(corpus: Corpus, vocabularies: Vocabularies) -> int:
    """In words; looked for among the sources of most pieces, so that a large corpus costs no more than a small one."""
    most_pieces = corpus.source.lengths.argsort()[-100:].tolist()
    return max(len(words(vocabularies.source.decode(corpus.source(i).tolist()))) for i in most_pieces)


def _drawn(data: Data, split: str, count: int) -> list[HasTexts]:
    """Pairs of a built-in task, drawn once: their texts alone, since there may be many."""
    assert data.task is not None
    drawn = tasks.task(data.task).pairs(count, seed=1, split=split, words=data.words)
    return [TextPair(pair.source, pair.target) for pair in drawn]


def _vocabularies(data: Data, training: Iterable[HasTexts], folder: Path) -> Vocabularies:
    """Of this run where it has one already; else another model's, or made of the training pairs; kept with the run."""
    kept = folder / "vocabulary"
    files.settle(kept)
    if any(kept.glob("*.model")):
        return Vocabularies.load(kept)
    if data.vocab_from is None:
        made = Vocabularies.train(training, data.vocabulary, joint=data.joint)
    else:
        place = Path(data.vocab_from)
        if not place.is_dir():
            raise UserError(f"data.vocab_from: {place} is not a model folder")
        made = Vocabularies.load(place)
    with files.atomic_folder(kept) as new:
        made.save(new)
    return made
