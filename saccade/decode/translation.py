"""One translation: its text, how sure the model was of it, and where it looked."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from saccade.align import Links
from saccade.align.attention import NO_ATTENTION, PairAttention, SegmentedText, TokenWeights
from saccade.decode.confidence import Calibration
from saccade.decode.search.recording import SearchTree
from saccade.errors import UserError
from saccade.text.words import TextUnit, UnitChoice

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import Console


@dataclass(frozen=True, kw_only=True)
class ReplacedWord:
    """An unknown word that was filled in."""

    words: tuple[int, int]  # of the text, from 0: [first, end)
    source_word: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Translation:
    """`attention`, and all that is made of it, is found when first asked for, by one teacher-forced pass over the
    result; it is None for a model that reads one fixed vector.
    """

    source: str
    text: str
    tokens: tuple[str, ...]  # pieces, without start and end
    score: float
    log_prob: float
    token_log_probs: tuple[float, ...]  # of each piece, and of the end where it ended
    ended: bool  # False: cut off at the longest length that the search was given
    alternatives: tuple["Translation", ...] = ()  # the rest of the n best
    # What a person should know: a placeholder that was lost, or made up and left out; a text that was too long.
    notes: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()  # constraints that it does not meet, each with the reason
    parts: tuple["Translation", ...] = ()  # of a text that was too long to be translated in one
    replaced: tuple[ReplacedWord, ...] = ()  # unknown words that were filled in
    tree: SearchTree | None = field(default=None, repr=False, compare=False)  # of the search, where it was recorded
    attend: Callable[[], PairAttention] | None = field(default=None, repr=False, compare=False)
    segment: Callable[[], SegmentedText] | None = field(default=None, repr=False, compare=False)
    calibration: Calibration | None = field(default=None, repr=False, compare=False)  # of the model that wrote it

    @cached_property
    def attention(self) -> PairAttention | None:
        return None if self.attend is None else self.attend()

    @property
    def confidence(self) -> float | None:
        """The chrF, from 0 to 1, to be expected; None where the model was not calibrated, or the source is blank."""
        if self.calibration is None or not self.token_log_probs:
            return None
        return self.calibration.of_sentence(self.token_log_probs)

    @property
    def token_confidences(self) -> tuple[float, ...] | None:
        """How probably each of `token_log_probs` is of a token that is right, if those before it are."""
        return None if self.calibration is None else self.calibration.of_tokens(self.token_log_probs)

    @property
    def word_confidences(self) -> tuple[tuple[str, float], ...] | None:
        """The words, each with how probably all of its tokens are right."""
        if self.parts:
            every = [part.word_confidences for part in self.parts]
            return tuple(word for some in every for word in some or ()) if None not in every else None
        if self.calibration is None or self.segment is None:
            return None
        segments = self.segment()
        found = self.calibration.of_words(self.token_log_probs, segments.spans, len(segments.words))
        return tuple(zip(segments.words, found, strict=True))

    @property
    def piece_weights(self) -> TokenWeights | None:
        """(H, T, S + 1): a row a token, a column a piece of the source and one for its end"""
        return None if self.attention is None else self.attention.token_weights()

    @property
    def unit(self) -> TextUnit | None:
        """What `weights` and `alignment` are between: words, or pieces (see `saccade.text.words`). `attention.weights`
        and `attention.alignment` take another, as by="word"."""
        return None if self.attention is None else self.attention.unit()

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """(T, S) between words, or between pieces"""
        return None if self.attention is None else self.attention.weights()

    @property
    def alignment(self) -> Links | None:
        """Links (source word, target word), or of pieces, counted from 0"""
        return None if self.attention is None else self.attention.alignment()

    @property
    def n_best(self) -> tuple["Translation", ...]:
        """It and its alternatives."""
        return (self, *self.alternatives)

    def ranked(self, scores: Sequence[float]) -> list[int]:
        """The places of the n best by other scores, best first; equals stay in order. What meets more constraints still
        comes first, then what has an end."""
        worth = [(len(one.unmet), not one.ended, -score) for one, score in zip(self.n_best, scores, strict=True)]
        return sorted(range(len(worth)), key=worth.__getitem__)

    def rescored(self, scores: Sequence[float]) -> "Translation":
        """The n best in that order, with those scores."""
        best, *others = (
            replace(self.n_best[place], score=scores[place], alternatives=(), tree=None)
            for place in self.ranked(scores)
        )
        return replace(best, alternatives=tuple(others), tree=self.tree)

    def plot(
        self, ax: "Axes | None" = None, *, by: UnitChoice = "auto", say: Callable[[str], None] | None = None
    ) -> "Axes":
        """The weights between words, or between pieces, as a figure. `say` is told which font to install, if a
        character can be drawn with none; without it, that is a warning."""
        from saccade.inspect import plot_heatmap

        return plot_heatmap(*self._heatmap(by), ax=ax, say=say)

    def show(self, console: "Console | None" = None, *, by: UnitChoice = "auto") -> None:
        """The weights between words, or between pieces, in the terminal."""
        from saccade.inspect import terminal_heatmap

        terminal_heatmap(*self._heatmap(by), console=console)

    def as_dict(self, *, by: UnitChoice = "auto") -> dict[str, Any]:
        """Plain values for JSON; `unit` says whether `alignment` counts words or pieces."""
        attention = self.attention
        aligned: dict[str, Any] = {"alignment": None}
        if attention is not None:
            links = sorted(attention.alignment(by=by), key=lambda link: (link[1], link[0]))
            aligned = {
                "unit": attention.unit(by),
                "alignment": [list(link) for link in links],
                "source_words": list(attention.source.words),
                "target_words": list(attention.target.words),
                "source_pieces": list(attention.source.units("piece")),
                "target_pieces": list(attention.target.units("piece")),
            }
        return {
            "source": self.source,
            "text": self.text,
            "score": self.score,
            "log_prob": self.log_prob,
            "ended": self.ended,
            "notes": list(self.notes),
            "unmet": list(self.unmet),
            "replaced": [asdict(word) for word in self.replaced],
            "parts": [{"source": part.source, "text": part.text} for part in self.parts],
            "tokens": list(self.tokens),
            "token_log_probs": list(self.token_log_probs),
            "confidence": self.confidence,
            "token_confidences": self.token_confidences and list(self.token_confidences),
            "word_confidences": self.word_confidences and [list(word) for word in self.word_confidences],
            **aligned,
            "alternatives": [
                {
                    "text": other.text,
                    "score": other.score,
                    "log_prob": other.log_prob,
                    "replaced": [asdict(word) for word in other.replaced],
                    "tokens": list(other.tokens),
                    "token_log_probs": list(other.token_log_probs),
                    "confidence": other.confidence,
                }
                for other in self.alternatives
            ],
        }

    def _repr_html_(self) -> str:
        """For notebooks: styles are inline and nothing runs, so that it also shows where scripts are stripped."""
        from html import escape

        from saccade.inspect.cells import CIVIDIS, ink, percent, steps, visible

        texts = f'<p dir="auto">{escape(self.source)}<br><b>{escape(self.text)}</b></p>'
        attention = self.attention
        source, target = ((), ()) if attention is None else attention.units()
        if attention is None or not source or not target:
            return texts
        upright = "writing-mode:vertical-rl;font-weight:400"
        head = "".join(f'<th style="{upright}">{escape(visible(unit))}</th>' for unit in source)
        rows, matrix = [], attention.weights()
        for unit, weights, colours in zip(target, matrix, steps(matrix), strict=True):
            cells = (
                f'<td style="background:{CIVIDIS[colour]};color:{ink(colour)};text-align:center">{percent(weight)}</td>'
                for weight, colour in zip(weights, colours.tolist(), strict=True)
            )
            rows.append(f'<tr><th style="text-align:right">{escape(visible(unit))}</th>{"".join(cells)}</tr>')
        return f"{texts}<table><tr><td></td>{head}</tr>{''.join(rows)}</table>"

    def _heatmap(self, by: UnitChoice) -> tuple[NDArray[np.float64], tuple[str, ...], tuple[str, ...]]:
        if self.attention is None:
            raise UserError(NO_ATTENTION)
        source, target = self.attention.units(by)
        if not source or not target:
            side = "the source" if not source else "the translation"
            raise UserError(f"nothing to draw: {side} has no {self.attention.unit(by)}s")
        return self.attention.weights(by=by), source, target
