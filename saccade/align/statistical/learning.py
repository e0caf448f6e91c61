"""Aligners that are learnt from pairs of sentences alone, without a neural network.

aligner = learn_aligner("pairs.tsv")
for pair in aligner.align([("the cat sleeps", "le chat dort")]):
    print(format_links(pair.links))
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, get_args

import numpy as np

from saccade.align.aligner import AlignedPair, TextPair
from saccade.align.links import Links, Matrix, links_from_weights, reverse_links, symmetrise
from saccade.align.options import AlignOptions, StatisticalModel, Symmetrisation
from saccade.align.statistical.bitext import Bitext, CoOccurrences, Sentences, WordIds, WordPair, group_by_lengths
from saccade.align.statistical.em import STAGES, Direction, learn_direction
from saccade.align.statistical.lexicon import LexicalTable
from saccade.data.inputs import NamedPairs, Pairs, name_pairs
from saccade.errors import Bar, UserError, as_bar
from saccade.ranges import change_options
from saccade.text import words
from saccade.text.words import TextUnit

CHUNK = 1 << 24  # links that are aligned at a time: the more, the more pairs of equal lengths are among them
LINKED_FROM = 0.5  # a link is more probable than not
LONGEST = 500  # words of a side; longer pairs are aligned, but not learnt from
TASK_PAIRS = 20_000  # to learn from, where they come from a task


@dataclass(frozen=True, kw_only=True, eq=False)
class StatisticalAligner:
    """Both directions of a model, or one. A word is linked to the word with the largest posterior probability if that
    is at least ½.

    Posteriors are used instead of the most probable alignment of the whole pair (Viterbi). With the HMM, both have the
    same AER on the phrasebook (0.068 on 500 pairs); on the Hansards, after 60,000 pairs of Europarl, posteriors have
    0.137 and Viterbi 0.157. The weights of a result are the posteriors of the direction source → target.
    """

    model: StatisticalModel
    source: WordIds
    target: WordIds
    together: CoOccurrences
    forward: Direction
    backward: Direction | None  # None: only one direction was learnt
    symmetrisation: Symmetrisation
    tokenised: bool
    learnt_pairs: int
    by: ClassVar[TextUnit] = "word"

    @property
    def symmetrised(self) -> Symmetrisation | None:
        return None if self.backward is None else self.symmetrisation

    def align(self, pairs: Iterable[TextPair]) -> Iterator[AlignedPair]:
        """Yield one result per pair, in order, with about `CHUNK` links in memory at a time."""
        for chunk in _chunks(split_pairs(pairs, tokenised=self.tokenised)):
            linked = self._link(chunk)
            for number, (source, target) in enumerate(chunk):
                links, weights = linked.get(number, (frozenset(), np.zeros((len(target), len(source)))))
                yield AlignedPair(self.by, tuple(source), tuple(target), links, weights, None)

    def _link(self, pairs: Sequence[WordPair]) -> dict[int, tuple[Links, Matrix]]:
        """The links and weights of each pair with words on both sides, by its place."""
        sources, targets, linked = Sentences(), Sentences(), {}
        for source, target in pairs:
            sources.add(self.source.find(source))
            targets.add(self.target.find(target))
        for group in group_by_lengths(sources, targets):
            block = self.together.block(group)
            forward = self.forward.expect(block).words  # (T, B, S)
            backward = None if self.backward is None else self.backward.expect(block.swapped()).words  # (S, B, T)
            for place, number in enumerate(group.numbers.tolist()):
                links = links_from_weights(forward[:, place], threshold=LINKED_FROM)
                if backward is not None:
                    reverse = reverse_links(links_from_weights(backward[:, place], threshold=LINKED_FROM))
                    links = symmetrise(links, reverse, self.symmetrisation)
                linked[number] = links, forward[:, place]
        return linked


def learn_aligner(
    pairs: Pairs,
    model: StatisticalModel = "hmm",
    targets: str | Path | None = None,
    *,
    bar: Bar | None = None,
    **options: Any,
) -> StatisticalAligner:
    """Learn to align by IBM model 1, IBM model 2 or the HMM, in both directions.

    `options` are the options of `saccade align` that these models have: `learn_from`, `learn_from_targets`,
    `iterations`, `symmetrise` ("none": only the direction source → target), `tokenised`, and `count` and `seed` of a
    task's pairs.
    """
    chosen = change_options(AlignOptions(), {**options, "targets": targets})
    corpus = name_pairs(pairs, chosen.targets, count=chosen.count, seed=chosen.seed)
    return learn_from(corpus, model, chosen, bar or as_bar(None))


def learn_from(corpus: NamedPairs, model: StatisticalModel, options: AlignOptions, bar: Bar) -> StatisticalAligner:
    """The same, from pairs that are open already, and from those of the options."""
    if model not in STAGES:
        raise UserError(f"unknown model '{model}': choose one of {', '.join(get_args(StatisticalModel))}")
    options.refuse_choices_of_attention(model)
    known = [corpus] if options.learn_from is None else [corpus, _more_pairs(options)]
    both = chain.from_iterable(each.pairs for each in known)
    bitext = Bitext.from_pairs(split_pairs(both, tokenised=options.tokenised), LONGEST)
    if not bitext.pairs:
        names = " and ".join(each.name for each in known)
        raise UserError(f"{names}: no pair to learn from; expected texts on both sides, of at most {LONGEST} words")
    of_source, of_target = bitext.together.words()
    directions = 1 if options.symmetrise == "none" else 2
    with bar("learning", bitext.pairs * options.iterations * len(STAGES[model]) * directions) as advance:
        learn = partial(learn_direction, model, iterations=options.iterations, advance=advance)
        forward, backward = learn(bitext.blocks, LexicalTable.uniform(of_source, len(bitext.target))), None
        if directions == 2:
            swapped = [block.swapped() for block in bitext.blocks]
            backward = learn(swapped, LexicalTable.uniform(of_target, len(bitext.source)))
    return StatisticalAligner(
        model=model,
        source=bitext.source,
        target=bitext.target,
        together=bitext.together,
        forward=forward,
        backward=backward,
        symmetrisation=options.symmetrise,
        tokenised=options.tokenised,
        learnt_pairs=bitext.pairs,
    )


def split_pairs(pairs: Iterable[TextPair], *, tokenised: bool) -> Iterator[WordPair]:
    """The words of both sides of each pair."""
    split = str.split if tokenised else words
    for source, target in pairs:
        yield split(source), split(target)


def _chunks(pairs: Iterable[WordPair]) -> Iterator[list[WordPair]]:
    chunk, links = [], 0
    for source, target in pairs:
        chunk.append((source, target))
        links += len(source) * len(target)
        if links >= CHUNK:
            yield chunk
            chunk, links = [], 0
    if chunk:
        yield chunk


def _more_pairs(options: AlignOptions) -> NamedPairs:
    return name_pairs(str(options.learn_from), options.learn_from_targets, count=TASK_PAIRS, split="train")
