"""Texts longer than a model was trained for: translate them whole, split them into sentences, or refuse them.

Nothing is ever cut off. The translations of the sentences are joined to one, with its scores, n best and attention.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from saccade.align.attention import PairAttention, SegmentedText, TokenWeights
from saccade.decode.deferred import DeferredNumbers
from saccade.decode.options import Constraints, Search, TooLong
from saccade.decode.translation import Translation
from saccade.text.sentences import join_sentences, split_sentences

if TYPE_CHECKING:
    from saccade.decode.translator import Translator


class SplitText(NamedTuple):
    """The parts of a text to translate; one part if it is translated whole."""

    parts: list[str]
    note: str | None = None  # how a long text is translated
    refused: str | None = None  # why the text cannot be translated


def split_text(
    text: str, excess: str, too_long: TooLong, translator: "Translator", constraints: Constraints | None
) -> SplitText:
    """Split a text over the translator's limits as `too_long` says. A tag before the text is put before each part."""
    if too_long == "refuse":
        return SplitText([text], refused=excess)
    tag, rest = translator.vocabularies.source.split_tag(text)
    parts = [f"{tag} {sentence}" if tag else sentence for sentence in split_sentences(rest)]
    why_whole = "it has no sentence boundaries to split it at"
    if constraints not in (None, Constraints()):
        parts, why_whole = [text], "its constraints apply to the whole text"
    if len(parts) == 1:
        refused = f"{excess}; {why_whole}" if too_long == "split-or-refuse" else None
        return SplitText([text], note=f"{excess}; translated whole: {why_whole}", refused=refused)
    longer = next(filter(None, map(translator.excess, parts)), "").partition(",")[0]
    if longer and too_long == "split-or-refuse":
        return SplitText([text], refused=f"{excess}; one of its sentences still has {longer}")
    still_too_long = longer and f", one of which still has {longer}"
    return SplitText(parts, note=f"{excess}; translated in {len(parts)} parts{still_too_long}")


def join_parts(source: str, parts: Sequence[Translation], search: Search, notes: Sequence[str] = ()) -> Translation:
    """Join the translations of the parts of a text. The score is the search's, as if the text had been written at once,
    with one end symbol per part."""
    combinations: list[tuple[Translation, ...]] = [()]
    for part in parts:  # a beam over the parts
        longer = [(*before, translation) for before in combinations for translation in part.n_best]
        longer.sort(key=lambda joined: (not all(part.ended for part in joined), -_score(joined, search)))
        combinations = longer[: search.n_best]
    best, *others = (_join(source, joined, search, notes) for joined in combinations)
    return replace(best, alternatives=tuple(others))


def _join(source: str, parts: Sequence[Translation], search: Search, notes: Sequence[str]) -> Translation:
    return Translation(
        source=source,
        text=join_sentences([part.text for part in parts]),
        tokens=tuple(token for part in parts for token in part.tokens),
        score=_score(parts, search),
        log_prob=sum(part.log_prob for part in parts),
        token_log_probs=DeferredNumbers(
            sum(len(part.token_log_probs) for part in parts),
            lambda: [log_prob for part in parts for log_prob in part.token_log_probs],
        ),
        ended=all(part.ended for part in parts),
        notes=(*notes, *(note for part in parts for note in part.notes)),
        parts=tuple(parts),
        calibration=parts[0].calibration,
        attend=None if any(part.attend is None for part in parts) else partial(_join_attention, parts),
    )


def _score(parts: Sequence[Translation], search: Search) -> float:
    lengths = [max(1, len(part.token_log_probs)) for part in parts]
    norms = (search.score(part.log_prob, length) for part, length in zip(parts, lengths, strict=True))
    coverage = sum(part.score - norm for part, norm in zip(parts, norms, strict=True))  # β·cp, a sum over the source
    return search.score(sum(part.log_prob for part in parts), sum(lengths)) + coverage


def _join_attention(parts: Sequence[Translation]) -> PairAttention:
    """One block per part, and zero between parts. The attention to the ends of all parts is in the last column."""
    attentions = [part.attention for part in parts if part.attention is not None]
    source, target = (_join_segments([getattr(part, side) for part in attentions]) for side in ("source", "target"))
    rows = accumulate((len(part.target.ids) for part in attentions), initial=0)
    columns = accumulate((len(part.source.ids) for part in attentions), initial=0)
    blocks = list(zip(rows, columns, attentions, strict=False))  # the last row and column are where all blocks end
    head, layers = attentions[0].default_head, []
    for layer, first in enumerate(attentions[0].layers):
        whole: TokenWeights = np.zeros((first.shape[0], len(target.ids) + 1, len(source.ids) + 1), np.float32)
        # A part has one step more than tokens, at which two blocks meet: the one that aligns a token is written last.
        for row, column, part in blocks[::-1] if head.shift else blocks:
            weights, steps = part.layers[layer], slice(row, row + len(part.target.ids) + 1)
            whole[:, steps] = 0
            whole[:, steps, column : column + len(part.source.ids)] = weights[..., :-1]
            whole[:, steps, -1] = weights[..., -1]
        layers.append(whole)
    return PairAttention(source=source, target=target, layers=tuple(layers), default_head=head, end=attentions[0].end)


def _join_segments(texts: Sequence[SegmentedText]) -> SegmentedText:
    words = accumulate((len(text.words) for text in texts), initial=0)
    ids = accumulate((len(text.ids) for text in texts), initial=0)
    spans = [(a + before, b + before) for text, before in zip(texts, words, strict=False) for a, b in text.spans]
    places = [place + before for text, before in zip(texts, ids, strict=False) for place in text.text_places]
    joined: dict[str, Any] = {
        name: tuple(chain.from_iterable(getattr(text, name) for text in texts)) for name in ("ids", "tokens", "words")
    }
    characters = any(text.characters for text in texts)
    return SegmentedText(spans=tuple(spans), places=tuple(places), characters=characters, **joined)
