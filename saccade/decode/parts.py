"""A text that was translated in parts as one translation: its text, scores, n best and attention."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import accumulate

import numpy as np

from saccade.decode.attended import Attended, PieceWeights, Segments
from saccade.decode.options import Search
from saccade.decode.translation import Translation
from saccade.text.sentences import join_sentences


def join(source: str, parts: Sequence[Translation], how: Search, notes: Sequence[str] = ()) -> Translation:
    """Scores are by the formula of the search, as if the whole had been written at once, with the end of each part."""
    combined: list[tuple[Translation, ...]] = [()]
    for part in parts:  # the best of all combinations, as far as those of the parts before are the best
        longer = [(*before, one) for before in combined for one in (part, *part.alternatives)]
        combined = sorted(longer, key=lambda some: _worth(some, how))[: how.n_best]
    best, *others = (_joined(source, some, how, notes) for some in combined)
    return replace(best, alternatives=tuple(others))


def _joined(source: str, parts: Sequence[Translation], how: Search, notes: Sequence[str]) -> Translation:
    attend = None if any(part.attend is None for part in parts) else partial(_attended, parts)
    return Translation(
        source=source,
        text=join_sentences([part.text for part in parts]),
        tokens=tuple(token for part in parts for token in part.tokens),
        score=_score(parts, how),
        log_prob=sum(part.log_prob for part in parts),
        token_log_probs=tuple(one for part in parts for one in part.token_log_probs),
        ended=all(part.ended for part in parts),
        notes=(*notes, *(note for part in parts for note in part.notes)),
        parts=tuple(parts),
        calibration=parts[0].calibration,
        attend=attend,
    )


def _worth(parts: Sequence[Translation], how: Search) -> tuple[bool, float]:
    return not all(part.ended for part in parts), -_score(parts, how)


def _score(parts: Sequence[Translation], how: Search) -> float:
    lengths = [max(1, len(part.token_log_probs)) for part in parts]
    norms = (how.score(part.log_prob, length) for part, length in zip(parts, lengths, strict=True))
    coverage = sum(part.score - norm for part, norm in zip(parts, norms, strict=True))  # β·cp, a sum over the source
    return how.score(sum(part.log_prob for part in parts), sum(lengths)) + coverage


def _attended(parts: Sequence[Translation]) -> Attended:
    """A block for each part: what one part reads of another is nothing. What was read of any end is in one column."""
    read = [part.attention for part in parts if part.attention is not None]
    source, target = _chained([one.source for one in read]), _chained([one.target for one in read])
    rows = accumulate((len(one.target.ids) for one in read), initial=0)
    columns = accumulate((len(one.source.ids) for one in read), initial=0)
    blocks = list(zip(rows, columns, read))  # noqa: B905  (where each begins; the last number is where all end)
    layers = []
    for layer, first in enumerate(read[0].layers):
        whole: PieceWeights = np.zeros((first.shape[0], len(target.ids) + 1, len(source.ids) + 1), np.float32)
        # A part has a step more than pieces, at which two blocks meet: the one that aligns a piece is put down last.
        for row, column, one in blocks[::-1] if read[0].usual.shift else blocks:
            here, steps = one.layers[layer], slice(row, row + len(one.target.ids) + 1)
            whole[:, steps] = 0
            whole[:, steps, column : column + len(one.source.ids)] = here[..., :-1]
            whole[:, steps, -1] = here[..., -1]
        layers.append(whole)
    return Attended(source=source, target=target, layers=tuple(layers), usual=read[0].usual, end=read[0].end)


def _chained(texts: Sequence[Segments]) -> Segments:
    spans: list[tuple[int, int]] = []
    places: list[int] = []
    before = 0
    for text in texts:
        spans += [(first + before, end + before) for first, end in text.spans]
        places += [len(places) + place for place in text.text_places]
        before += len(text.words)
    return Segments(
        ids=tuple(one for text in texts for one in text.ids),
        pieces=tuple(one for text in texts for one in text.pieces),
        spans=tuple(spans),
        words=tuple(word for text in texts for word in text.words),
        places=tuple(places),
        characters=any(text.characters for text in texts),
    )
