"""How long a source a model can be expected to read, and what is done with a longer one.

Nothing is ever cut off: a longer text is read whole all the same, or sentence by sentence, or refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Literal, NamedTuple, get_args

import numpy as np

from saccade.align.attention import PairAttention, SegmentedText, TokenWeights
from saccade.attention import Learned
from saccade.attention.scores import LocationOnly
from saccade.decode.constraints.options import Constraints
from saccade.decode.search.options import Search
from saccade.decode.translation import Translation
from saccade.errors import UserError
from saccade.models.contract import Seq2Seq
from saccade.text import Vocabularies, words
from saccade.text.sentences import join_sentences, split_sentences

TooLong = Literal["keep", "split", "split-or-refuse", "refuse"]
"""Keep it whole; translate each of its sentences by itself, and keep one that is still too long whole, with a note, or
refuse it; refuse it at once."""


class Excess(NamedTuple):
    size: str
    limit: str

    def __str__(self) -> str:
        return f"{self.size}, more than the {self.limit}"


@dataclass(frozen=True, kw_only=True)
class LengthLimits:
    words: int | None = None  # of the longest source that was trained on
    pieces: int | None = None  # places, the end's among them, that a model with learned positions has

    @classmethod
    def from_model(cls, model: "Seq2Seq[object, object]", *, words: int | None = None) -> "LengthLimits":
        """What it learnt of every place is all that it knows of places."""
        places = [part.table.num_embeddings for part in model.modules() if isinstance(part, Learned)]
        places += [part.weight.shape[-1] for part in model.modules() if isinstance(part, LocationOnly)]
        return cls(words=words, pieces=min(places, default=None))

    def over(self, text: str, vocabularies: Vocabularies) -> Excess | None:
        """By how much a text is too long; None: it is not."""
        read = vocabularies.mask(text).text
        count = len(words(vocabularies.source.split_tag(read)[1]))
        if self.words is not None and count > self.words:
            return Excess(f"{count} words", f"{self.words} of the longest text that the model was trained on")
        if self.pieces is not None and (count := len(vocabularies.source.encode(read)) + 1) > self.pieces:
            return Excess(f"{count} pieces with the end", f"{self.pieces} that the model has places for")
        return None


class SplitText(NamedTuple):
    """The parts in which a text is to be translated; one, if it is whole."""

    parts: list[str]
    note: str | None = None  # what was done with it
    refused: str | None = None  # why it may not be translated


def split_text(
    text: str,
    too_long: TooLong,
    limits: LengthLimits,
    vocabularies: Vocabularies,
    constraints: Constraints | None = None,
) -> SplitText:
    """A tag before the text is put before each part."""
    if too_long not in get_args(TooLong):
        raise UserError(f"too_long must be {', '.join(get_args(TooLong))}; got {too_long!r}")
    if too_long == "keep" or (excess := limits.over(text, vocabularies)) is None:
        return SplitText([text])
    if too_long == "refuse":
        return SplitText([text], refused=str(excess))
    tag, rest = vocabularies.source.split_tag(text)
    found = [f"{tag} {sentence}" if tag else sentence for sentence in split_sentences(rest)]
    why_whole = "it has no sentence ends to cut it at"
    if constraints not in (None, Constraints()):
        found, why_whole = [text], "its constraints are of the whole"
    still = next(filter(None, (limits.over(part, vocabularies) for part in found)), None)
    if len(found) == 1:
        refused = f"{excess}; {why_whole}" if too_long == "split-or-refuse" else None
        return SplitText([text], note=f"{excess}; translated whole: {why_whole}", refused=refused)
    if still is not None and too_long == "split-or-refuse":
        return SplitText([text], refused=f"{excess}; a sentence of it still has {still.size}")
    too_long_still = "" if still is None else f", one of which still has {still.size}"
    return SplitText(found, note=f"{excess}; translated in {len(found)} parts{too_long_still}")


def join_parts(source: str, parts: Sequence[Translation], search: Search, notes: Sequence[str] = ()) -> Translation:
    """Scores are by the formula of the search, as if the whole had been written at once, with the end of each part."""
    combined: list[tuple[Translation, ...]] = [()]
    for part in parts:  # the best of all combinations, as far as those of the parts before are the best
        longer = [(*before, one) for before in combined for one in (part, *part.alternatives)]
        combined = sorted(longer, key=lambda some: _worth(some, search))[: search.n_best]
    best, *others = (_joined(source, some, search, notes) for some in combined)
    return replace(best, alternatives=tuple(others))


def _joined(source: str, parts: Sequence[Translation], search: Search, notes: Sequence[str]) -> Translation:
    attend = None if any(part.attend is None for part in parts) else partial(_attended, parts)
    return Translation(
        source=source,
        text=join_sentences([part.text for part in parts]),
        tokens=tuple(token for part in parts for token in part.tokens),
        score=_score(parts, search),
        log_prob=sum(part.log_prob for part in parts),
        token_log_probs=tuple(one for part in parts for one in part.token_log_probs),
        ended=all(part.ended for part in parts),
        notes=(*notes, *(note for part in parts for note in part.notes)),
        parts=tuple(parts),
        calibration=parts[0].calibration,
        attend=attend,
    )


def _worth(parts: Sequence[Translation], search: Search) -> tuple[bool, float]:
    return not all(part.ended for part in parts), -_score(parts, search)


def _score(parts: Sequence[Translation], search: Search) -> float:
    lengths = [max(1, len(part.token_log_probs)) for part in parts]
    norms = (search.score(part.log_prob, length) for part, length in zip(parts, lengths, strict=True))
    coverage = sum(part.score - norm for part, norm in zip(parts, norms, strict=True))  # β·cp, a sum over the source
    return search.score(sum(part.log_prob for part in parts), sum(lengths)) + coverage


def _attended(parts: Sequence[Translation]) -> PairAttention:
    """A block for each part: what one part reads of another is nothing. What was read of any end is in one column."""
    read = [part.attention for part in parts if part.attention is not None]
    source, target = _chained([one.source for one in read]), _chained([one.target for one in read])
    rows = accumulate((len(one.target.ids) for one in read), initial=0)
    columns = accumulate((len(one.source.ids) for one in read), initial=0)
    blocks = list(zip(rows, columns, read))  # noqa: B905  (where each begins; the last number is where all end)
    layers = []
    for layer, first in enumerate(read[0].layers):
        whole: TokenWeights = np.zeros((first.shape[0], len(target.ids) + 1, len(source.ids) + 1), np.float32)
        # A part has a step more than pieces, at which two blocks meet: the one that aligns a piece is put down last.
        for row, column, one in blocks[::-1] if read[0].default_head.shift else blocks:
            here, steps = one.layers[layer], slice(row, row + len(one.target.ids) + 1)
            whole[:, steps] = 0
            whole[:, steps, column : column + len(one.source.ids)] = here[..., :-1]
            whole[:, steps, -1] = here[..., -1]
        layers.append(whole)
    return PairAttention(
        source=source, target=target, layers=tuple(layers), default_head=read[0].default_head, end=read[0].end
    )


def _chained(texts: Sequence[SegmentedText]) -> SegmentedText:
    spans: list[tuple[int, int]] = []
    places: list[int] = []
    before = 0
    for text in texts:
        spans += [(first + before, end + before) for first, end in text.spans]
        places += [len(places) + place for place in text.text_places]
        before += len(text.words)
    return SegmentedText(
        ids=tuple(one for text in texts for one in text.ids),
        tokens=tuple(token for text in texts for token in text.tokens),
        spans=tuple(spans),
        words=tuple(word for text in texts for word in text.words),
        places=tuple(places),
        characters=any(text.characters for text in texts),
    )
