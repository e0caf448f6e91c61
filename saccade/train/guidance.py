"""Guided alignment (Chen, Matusov, Khadivi & Peter 2016): train the attention towards known links between words.

With α_ts the weight by which the decoder reads source token s at the step that aligns target token t, and A_ts ≥ 0 the
links between their words, each row scaled to sum to 1:

    loss = −Σ_t Σ_s A_ts log α_ts        over the target tokens that have a link
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from saccade.align import parse_gold
from saccade.attention.trace import Trace
from saccade.data import Corpus, read_lines
from saccade.data.batching import Batch
from saccade.errors import UserError
from saccade.models import Seq2Seq
from saccade.text import HasTexts, Tokeniser, Vocabularies, words
from saccade.train.data_options import Data
from saccade.train.dataset import Dataset
from saccade.train.recipe import Recipe

WordLinks = npt.NDArray[np.int32]  # (links, 2): source word, target word


class AlignmentGuide:
    def __init__(
        self,
        links: Mapping[int, WordLinks],  # by the line on which a pair begins: a CSV has a header and multi-line rows
        corpus: Corpus,
        vocabularies: Vocabularies,
        *,
        layer: int | None = None,  # of the decoder's attentions; None: the mean of all
        head: int | None = None,
    ) -> None:
        self.links, self.layer, self.head = links, layer, head
        self._corpus, self._vocabularies = corpus, vocabularies
        self._token_links: dict[int, tuple[npt.NDArray[Any], ...]] = {}  # computed when a pair is first read

    def loss(self, model: Seq2Seq[Any, Any], batch: Batch, trace: Trace) -> Tensor:
        """Summed over the target tokens that have a link."""
        names = model.cross if self.layer is None else [model.cross[self.layer]]
        heads = slice(None) if self.head is None else [self.head]
        weights = torch.stack([trace[name].float()[:, heads].mean(1) for name in names]).mean(0)  # (B, T, S)
        aligned = weights[:, model.alignment_shift :]  # row t now aligns target token t
        wanted = self.wanted(batch)[:, : aligned.shape[1]].to(aligned.device)
        return -(wanted * aligned.clamp_min(torch.finfo(torch.float32).tiny).log()).sum()

    def wanted(self, batch: Batch) -> Tensor:
        """A (B, T, S): the row of a target token sums to 1, or to 0 if none of its words has a link."""
        wanted = np.zeros((*batch.target_in.shape, batch.source.shape[1]), np.float32)
        for row, index in enumerate(batch.indices.tolist()):
            if index not in self._token_links:
                self._token_links[index] = self._link_tokens(index)
            target, source, share = self._token_links[index]
            inside = (target < wanted.shape[1]) & (source < wanted.shape[2])  # a trial batch may be shorter than a pair
            wanted[row, target[inside], source[inside]] = share[inside]
        return torch.from_numpy(wanted)

    def _link_tokens(self, index: int) -> tuple[npt.NDArray[Any], ...]:
        """(target tokens, source tokens, shares) of a pair: the entries of A that are not 0. The words that a target
        token is linked to have equal shares, and so do the tokens of each word."""
        corpus, vocabularies = self._corpus, self._vocabularies
        links = self.links[int(corpus.lines[index])]
        source = _overlaps(vocabularies.source, corpus.source(index).tolist(), links[:, 0])  # (S, links)
        target = _overlaps(vocabularies.target, corpus.target(index).tolist(), links[:, 1])  # (T, links)
        shares = target @ (source / np.maximum(source.sum(0), 1)).T  # (T, S)
        shares /= np.maximum(shares.sum(1, keepdims=True), 1e-9)
        rows, columns = shares.nonzero()
        return rows, columns, shares[rows, columns]


def _overlaps(tokeniser: Tokeniser, ids: list[int], words: WordLinks) -> npt.NDArray[np.float32]:
    """(tokens, words): 1 where the token overlaps the word"""
    spans = np.array(tokeniser.decode_with_spans(ids)[1]).reshape(-1, 2, 1)
    return ((spans[:, 0] <= words) & (words < spans[:, 1])).astype(np.float32)


def load_alignment_guide(recipe: Recipe, model: Seq2Seq[Any, Any], dataset: Dataset) -> AlignmentGuide | None:
    """Read `data.alignments` and check them against the pairs and the model; None if train.guided is 0."""
    data, training, layer, head = recipe.data, recipe.train, recipe.train.guided_layer, recipe.train.guided_head
    if not training.guided:
        if data.alignments is not None:
            raise UserError("data.alignments is given, but train.guided is 0: set it to the weight of its loss, or 0.5")
        return None
    if data.alignments is None:
        raise UserError("train.guided needs data.alignments: a file with one line of links i-j per pair, or 'task'")
    if not model.cross:
        raise UserError(f"train.guided: {recipe.model} has no attention that could be guided; set it to 0")
    heads = min(int(getattr(model.get_submodule(name), "heads", 1)) for name in model.cross)
    for key, number, count in (("layer", layer, len(model.cross)), ("head", head, heads)):
        if number is not None and not -count <= number < count:
            raise UserError(f"train.guided_{key}: {number} does not exist: the model has {count}, counted from 0")
    if not isinstance(dataset.corpus, Corpus):
        raise UserError("train.guided: the corpus is so large that it is streamed; set data.streaming = false")
    links = {line: as_array(links) for line, links in _read_links(data, data.alignments, dataset.vocabularies)}
    return AlignmentGuide(links, dataset.corpus, dataset.vocabularies, layer=layer, head=head)


def as_array(links: Iterable[tuple[int, int]]) -> WordLinks:
    return np.array([*links], np.int32).reshape(-1, 2)


def _read_links(
    data: Data, alignments: str, vocabularies: Vocabularies
) -> Iterator[tuple[int, Iterable[tuple[int, int]]]]:
    """The line on which each pair begins, and its links."""
    drawn = None if data.task is None else enumerate(data.drawn("train", data.count), 1)
    if alignments == "task":
        if drawn is None:
            raise UserError(f"data.alignments = 'task', but data.pairs is {data.pairs}: give a file of links i-j")
        for line, aligned in drawn:
            if aligned.alignment is None:
                raise UserError(f"data.alignments: the task {data.task} has no alignments of its words")
            yield line, aligned.alignment
        return
    pairs: Iterator[tuple[int, HasTexts]]
    pairs = drawn or ((mark[0], pair) for mark, pair in data.all_corpora[0].open().marked())
    for number, (text, links) in enumerate(zip_longest(pairs, read_lines(alignments)), 1):
        place = f"{alignments}:{number}"
        if text is None or links is None:
            fewer, more = ("pairs", "alignments") if text is None else ("alignments", "pairs")
            raise UserError(f"{place}: more {more} than {fewer}; expected one line per pair")
        line, pair = text
        sides = (vocabularies.source, pair.source), (vocabularies.target, pair.target)
        source, target = (len(words(tokeniser.normalise(side))) for tokeniser, side in sides)
        yield line, parse_gold(links, place=place, lengths=(source, target)).possible
