"""Guided alignment (Chen, Matusov, Khadivi & Peter 2016): the attention is drawn to links between words that are known.

With α_ts the weight by which the decoder reads source piece s at the step that aligns target piece t, and A_ts ≥ 0 the
links between their words, each row scaled to sum to 1:

    loss = −Σ_t Σ_s A_ts log α_ts        over the target pieces that have a link
"""

from array import array
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any, NamedTuple

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
from saccade.train.dataset import Dataset
from saccade.train.recipe import Data, Recipe

WordLinks = npt.NDArray[np.int16]  # (links, 2): source word, target word


class WordLinkTable:
    """The links of many pairs, two numbers per link, found by the line on which a pair begins.

    A line is not a pair's number: a CSV begins with a header, and one of its rows may go over several lines.
    """

    def __init__(self, pairs: Iterable[tuple[int, Iterable[tuple[int, int]]]]) -> None:
        flat, ends, lines = array("h"), array("q", [0]), array("q")
        for line, links in pairs:
            lines.append(line)
            for link in links:
                flat.extend(link)
            ends.append(len(flat) // 2)
        self._flat: WordLinks = np.frombuffer(flat, np.int16).reshape(-1, 2)
        self._ends, self._lines = np.frombuffer(ends, np.int64), np.frombuffer(lines, np.int64)

    def __len__(self) -> int:
        return len(self._lines)

    def __getitem__(self, line: int) -> WordLinks:
        pair = int(np.searchsorted(self._lines, line))
        if pair == len(self) or self._lines[pair] != line:
            raise KeyError(line)
        return self._flat[self._ends[pair] : self._ends[pair + 1]]


class TokenLinks(NamedTuple):
    """A row of A, and a column, and the share that stands there, for each pair of pieces that belong together."""

    target: npt.NDArray[np.int64]
    source: npt.NDArray[np.int64]
    share: npt.NDArray[np.float32]


class AlignmentGuide:
    def __init__(
        self,
        links: WordLinkTable,
        corpus: Corpus,
        vocabularies: Vocabularies,
        *,
        layer: int | None = None,  # of the decoder's attentions; None: the mean of all
        head: int | None = None,
    ) -> None:
        self.links, self.layer, self.head = links, layer, head
        self._corpus, self._vocabularies = corpus, vocabularies
        self._known: dict[int, TokenLinks] = {}  # found when a pair first comes

    def loss(self, model: Seq2Seq[Any, Any], batch: Batch, trace: Trace) -> Tensor:
        """Summed over the target pieces that have a link."""
        names = model.cross if self.layer is None else [model.cross[self.layer]]
        weights = torch.stack([self._of_heads(trace[name].float()) for name in names]).mean(0)  # (B, T, S)
        aligned = weights[:, model.alignment_shift :]  # row t now aligns target piece t
        wanted = self.wanted(batch)[:, : aligned.shape[1]].to(aligned.device)
        return -(wanted * aligned.clamp_min(torch.finfo(torch.float32).tiny).log()).sum()

    def _of_heads(self, weights: Tensor) -> Tensor:
        return weights.mean(1) if self.head is None else weights[:, self.head]

    def wanted(self, batch: Batch) -> Tensor:
        """A (B, T, S): a row of a target piece sums to 1, or to 0 where none of its words is linked."""
        wanted = np.zeros((*batch.target_in.shape, batch.source.shape[1]), np.float32)
        for row, index in enumerate(batch.indices.tolist()):
            target, source, share = self._linked(index)
            inside = (target < wanted.shape[1]) & (source < wanted.shape[2])  # a batch to try memory with is of no pair
            wanted[row, target[inside], source[inside]] = share[inside]
        return torch.from_numpy(wanted)

    def _linked(self, index: int) -> TokenLinks:
        """Of the pair at `index`. Words that a target piece is linked to have equal shares, and so do the pieces of
        each."""
        if index not in self._known:
            corpus, vocabularies = self._corpus, self._vocabularies
            links = self.links[int(corpus.lines[index])]
            source = _held(vocabularies.source, corpus.source(index).tolist(), links[:, 0])  # (S, links)
            target = _held(vocabularies.target, corpus.target(index).tolist(), links[:, 1])  # (T, links)
            linked = target @ (source / np.maximum(source.sum(0), 1)).T  # (T, S)
            linked /= np.maximum(linked.sum(1, keepdims=True), 1e-9)
            rows, columns = linked.nonzero()
            self._known[index] = TokenLinks(rows, columns, linked[rows, columns])
        return self._known[index]


def _held(tokeniser: Tokeniser, ids: list[int], words: WordLinks) -> npt.NDArray[np.float32]:
    """(pieces, words): 1 where the piece overlaps the word"""
    spans = np.array(tokeniser.decode_with_spans(ids)[1]).reshape(-1, 2, 1)
    return ((spans[:, 0] <= words) & (words < spans[:, 1])).astype(np.float32)


def load_alignment_guide(recipe: Recipe, model: Seq2Seq[Any, Any], dataset: Dataset) -> AlignmentGuide | None:
    """Of `data.alignments`, checked against the pairs and the model; None where nothing is to be guided."""
    data, training = recipe.data, recipe.train
    if not training.guided:
        if data.alignments is not None:
            raise UserError("data.alignments is given, but train.guided is 0: set it to the weight of its loss, or 0.5")
        return None
    if data.alignments is None:
        raise UserError("train.guided needs data.alignments: a file with one line of links i-j per pair, or 'task'")
    if not model.cross:
        raise UserError(f"train.guided: {recipe.model} has no attention that could be guided; set it to 0")
    heads = min(int(getattr(model.get_submodule(name), "heads", 1)) for name in model.cross)
    layer, head = training.guided_layer, training.guided_head
    for key, number, count in (("layer", layer, len(model.cross)), ("head", head, heads)):
        if number is not None and not -count <= number < count:
            raise UserError(f"train.guided_{key}: {number} does not exist: the model has {count}, counted from 0")
    if not isinstance(dataset.corpus, Corpus):
        raise UserError("train.guided: the corpus is so large that it is streamed; set data.streaming = false")
    links = WordLinkTable(_links(data, dataset.vocabularies))
    return AlignmentGuide(links, dataset.corpus, dataset.vocabularies, layer=layer, head=head)


def _links(data: Data, vocabularies: Vocabularies) -> Iterator[tuple[int, Iterable[tuple[int, int]]]]:
    """Of each pair, with the line on which it begins."""
    assert data.alignments is not None
    if data.alignments == "task":
        if data.task is None:
            raise UserError(f"data.alignments = 'task', but data.pairs is {data.pairs}: give a file of links i-j")
        for line, drawn in enumerate(data.drawn("train", data.count), 1):
            if drawn.alignment is None:
                raise UserError(f"data.alignments: the task {data.task} does not know how its words belong together")
            yield line, drawn.alignment
        return
    for number, (text, links) in enumerate(zip_longest(_texts(data), read_lines(data.alignments)), 1):
        if text is None or links is None:
            fewer, more = ("pairs", "alignments") if text is None else ("alignments", "pairs")
            raise UserError(f"{data.alignments}:{number}: more {more} than {fewer}; expected one line a pair")
        line, pair = text
        lengths = (_count(vocabularies.source, pair.source), _count(vocabularies.target, pair.target))
        yield line, parse_gold(links, place=f"{data.alignments}:{number}", lengths=lengths).possible


def _texts(data: Data) -> Iterator[tuple[int, HasTexts]]:
    """Each pair, with the line on which it begins."""
    if data.task is not None:
        return enumerate(data.drawn("train", data.count), 1)
    return ((mark[0], pair) for mark, pair in data.all_corpora[0].open().marked())


def _count(tokeniser: Tokeniser, text: str) -> int:
    return len(words(tokeniser.normalise(text)))
