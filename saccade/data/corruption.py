"""Corrupted texts and what is learnt from them: the objectives of pre-training an encoder-decoder on texts alone.

Lewis and others (2020): BART: Denoising Sequence-to-Sequence Pre-training for Natural Language Generation, Translation,
and Comprehension. `infill` hides spans of a text x of L tokens, and the model learns p(x | x̃):

    (1) n = ⌊share·L + u⌋ tokens are hidden, with u drawn from U(0, 1)
    (2) in spans of ℓ₁, ℓ₂, … ~ Poisson(λ) tokens, the last of which is cut so that Σ ℓ = n
    (3) x̃: at random places, each span is replaced by one mask; where ℓ = 0, a mask is inserted

Song and others (2019): MASS: Masked Sequence to Sequence Pre-training for Language Generation. `hide_fragment` hides
one fragment x_u … x_v, and the model learns p(x | x̃):

    (4) v − u + 1 = n tokens, as in (1) but at least one, from a random place u on
    (5) x̃: each of the fragment's tokens is replaced by a mask

Lample and others (2018): Unsupervised Machine Translation Using Monolingual Corpora Only. `shuffle` moves each token of
x̃ by at most k places:

    (6) σ sorts i + U(0, k + 1), so that |σ(i) − i| ≤ k

The mask is `<unk>`, as for SimCut: unknown characters are spelled in bytes, so no text contains it, and it means hidden
and nothing else.

Deviations. All three: the units are tokens; BART and Lample hide and move words. BART: a text has at most as many spans
as hidden tokens, so that x̃ is never longer than x; the texts are lines, so their sentences are not permuted. MASS: the
decoder writes the whole text; in the paper, the fragment alone, which taught small models next to nothing
(docs/pretraining.md). Every hidden token is a mask, and none is kept or replaced by another word.
"""

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np

from saccade.data.corpus import PairWindow, Places, Side
from saccade.ranges import BetweenZeroAndOne, Checked, Help, OptionError, Positive, Range
from saccade.text import UNK

MASK = UNK
Restoring = Literal["denoise", "masked"]
_SHARES: dict[Restoring, float] = {"denoise": 0.3, "masked": 0.5}
_OWN_STREAM = 1  # of random numbers, besides that of the order of batches


@dataclass(frozen=True, kw_only=True)
class Corruption(Checked):
    """How texts are corrupted: the form in which an encoder-decoder learns them."""

    objective: Annotated[
        Restoring,
        Help("What to hide: spans, each by one mask (denoise, as BART), or one long fragment (masked, as MASS)."),
    ] = "denoise"
    share: Annotated[
        BetweenZeroAndOne | None, Help("Share of the tokens to hide; none: 0.3 for denoise, 0.5 for masked.")
    ] = None
    span: Annotated[Positive, Help("Mean length of a hidden span in tokens; for denoise.")] = 3.0
    shuffle: Annotated[int, Range(least=0, most=1_000), Help("Places by which a token may move; for denoise.")] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.shuffle and self.objective == "masked":
            raise OptionError("shuffle", "is for objective = 'denoise': leave it out")

    @property
    def hidden_share(self) -> float:
        return _SHARES[self.objective] if self.share is None else self.share

    @property
    def block(self) -> None:
        """Each line is a text."""
        return None

    def __call__(self, window: PairWindow, seed: int, epoch: int, number: int) -> PairWindow:
        """The corrupted texts of a window, and the texts to write; the corruption of another epoch is another."""
        random = np.random.default_rng((seed, epoch, number, _OWN_STREAM))
        ids, lengths = window.target.join(window.places)
        texts = Side(ids, _offsets(lengths))
        indices = window.places if window.indices is None else window.indices[window.places]
        source = self.corrupt(texts, random)
        return replace(window, source=source, target=texts, places=np.arange(len(lengths)), indices=indices)

    def corrupt(self, texts: Side, random: np.random.Generator) -> Side:
        if self.objective == "masked":
            return hide_fragment(texts, self.hidden_share, random)
        source = infill(texts, self.hidden_share, self.span, random)
        return shuffle(source, self.shuffle, random) if self.shuffle else source

    def longest_sides(self, sides: tuple[int, int]) -> tuple[int, int]:
        return sides[1], sides[1]


def infill(texts: Side, share: float, span: float, random: np.random.Generator) -> Side:
    """Equations 1 to 3: the texts with a mask for each of their hidden spans."""
    ids, lengths = texts.ids, texts.lengths
    hidden = _draw_hidden(lengths, share, random)  # n of each text
    text, spans = _draw_spans(hidden, span, random)
    slots = (random.random(len(text)) * (lengths - hidden + 1)[text]).astype(np.int64)  # visible tokens before a span
    slots = slots[np.lexsort((slots, text))]
    counts = np.bincount(text, minlength=len(lengths))
    before = np.cumsum(spans) - spans  # tokens that are hidden before a span, in all texts …
    before -= (np.cumsum(hidden) - hidden)[text]  # … and in its own
    starts = texts.offsets[text] + slots + before
    is_hidden = np.zeros(len(ids), bool)
    is_hidden[np.repeat(starts - (np.cumsum(spans) - spans), spans) + np.arange(spans.sum())] = True

    source_lengths = lengths - hidden + counts
    source = np.full(source_lengths.sum(), MASK, np.int32)
    offsets = _offsets(source_lengths)
    number = np.arange(len(text)) - (np.cumsum(counts) - counts)[text]  # of a span in its text
    is_mask = np.zeros(len(source), bool)
    is_mask[offsets[text] + slots + number] = True
    source[~is_mask] = ids[~is_hidden]
    return Side(source, offsets)


def hide_fragment(texts: Side, share: float, random: np.random.Generator) -> Side:
    """Equations 4 and 5: the texts with a mask for each token of the fragment."""
    lengths = texts.lengths
    hidden = np.minimum(lengths, np.maximum(1, _draw_hidden(lengths, share, random)))
    first = (random.random(len(lengths)) * (lengths - hidden + 1)).astype(np.int64)  # u
    before = np.cumsum(hidden) - hidden
    places = np.repeat(texts.offsets[:-1] + first - before, hidden) + np.arange(hidden.sum())
    source = texts.ids.copy()
    source[places] = MASK
    return Side(source, texts.offsets)


def shuffle(texts: Side, distance: int, random: np.random.Generator) -> Side:
    """Equation 6: the texts with each token moved by at most `distance` places."""
    text = np.repeat(np.arange(len(texts.lengths)), texts.lengths)
    moved = np.arange(len(text)) + random.random(len(text)) * (distance + 1)
    return Side(texts.ids[np.lexsort((moved, text))], texts.offsets)


def _draw_hidden(lengths: Places, share: float, random: np.random.Generator) -> Places:
    """Equation 1"""
    return np.minimum(lengths, (share * lengths + random.random(len(lengths))).astype(np.int64))


def _draw_spans(hidden: Places, mean: float, random: np.random.Generator) -> tuple[Places, Places]:
    """Equation 2 → the text of each span, and its length. The last of as many draws as tokens takes those that are
    left, so that there are never more spans than tokens."""
    text = np.repeat(np.arange(len(hidden)), hidden)
    drawn = random.poisson(mean, len(text))
    left = hidden[text] - (np.cumsum(drawn) - drawn)  # of all texts …
    ends = np.cumsum(hidden)
    drawn_before = np.concatenate([[0], np.cumsum(drawn)])[ends - hidden]
    left += drawn_before[text]  # … and of its own
    lengths = np.minimum(drawn, left)
    last = ends[hidden > 0] - 1
    lengths[last] = left[last]
    is_needed = left > 0
    return text[is_needed], lengths[is_needed]


def _offsets(lengths: Places) -> Places:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
