"""One translation: its text, how sure the model was of it, and where it looked."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from saccade.decode.attended import Attended, PieceWeights
from saccade.decode.recording import SearchTree
from saccade.errors import UserError
from saccade.evaluate import Links

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import Console

NO_ATTENTION = (
    "this model reads the source as one fixed vector, so no attention weights exist to show or align by; "
    "train one with attention, such as bahdanau2014"
)


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
    notes: tuple[str, ...] = ()  # what went wrong with placeholders: one that was lost, or made up and left out
    unmet: tuple[str, ...] = ()  # constraints that it does not meet, each with the reason
    tree: SearchTree | None = field(default=None, repr=False, compare=False)  # of the search, where it was recorded
    attend: Callable[[], Attended] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def attention(self) -> Attended | None:
        return None if self.attend is None else self.attend()

    @property
    def piece_weights(self) -> PieceWeights | None:
        """(H, T, S + 1): a row a token, a column a piece of the source and one for its end"""
        return None if self.attention is None else self.attention.pieces()

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """(T, S) between words"""
        return None if self.attention is None else self.attention.words()

    @property
    def alignment(self) -> Links | None:
        """Links (source word, target word), counted from 0"""
        return None if self.attention is None else self.attention.alignment()

    def plot(self, ax: "Axes | None" = None) -> "Axes":
        """The weights between words as a figure."""
        from saccade.inspect import plot_heatmap

        return plot_heatmap(*self._heatmap(), ax=ax)

    def show(self, console: "Console | None" = None) -> None:
        """The weights between words in the terminal."""
        from saccade.inspect import terminal_heatmap

        terminal_heatmap(*self._heatmap(), console=console)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        attention = self.attention
        aligned: dict[str, Any] = {"alignment": None}
        if attention is not None:
            links = sorted(attention.alignment(), key=lambda link: (link[1], link[0]))
            aligned = {
                "alignment": [list(link) for link in links],
                "source_words": list(attention.source.words),
                "target_words": list(attention.target.words),
            }
        return {
            "source": self.source,
            "text": self.text,
            "score": self.score,
            "log_prob": self.log_prob,
            "ended": self.ended,
            "notes": list(self.notes),
            "unmet": list(self.unmet),
            "tokens": list(self.tokens),
            "token_log_probs": list(self.token_log_probs),
            **aligned,
            "alternatives": [
                {
                    "text": other.text,
                    "score": other.score,
                    "log_prob": other.log_prob,
                    "tokens": list(other.tokens),
                    "token_log_probs": list(other.token_log_probs),
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
        if attention is None or not attention.source.words or not attention.target.words:
            return texts
        upright = "writing-mode:vertical-rl;font-weight:400"
        head = "".join(f'<th style="{upright}">{escape(visible(word))}</th>' for word in attention.source.words)
        rows, matrix = [], attention.words()
        for word, weights, colours in zip(attention.target.words, matrix, steps(matrix), strict=True):
            cells = (
                f'<td style="background:{CIVIDIS[colour]};color:{ink(colour)};text-align:center">{percent(weight)}</td>'
                for weight, colour in zip(weights, colours.tolist(), strict=True)
            )
            rows.append(f'<tr><th style="text-align:right">{escape(visible(word))}</th>{"".join(cells)}</tr>')
        return f"{texts}<table><tr><td></td>{head}</tr>{''.join(rows)}</table>"

    def _heatmap(self) -> tuple[NDArray[np.float64], tuple[str, ...], tuple[str, ...]]:
        if self.attention is None:
            raise UserError(NO_ATTENTION)
        source, target = self.attention.source.words, self.attention.target.words
        if not source or not target:
            raise UserError(f"nothing to draw: {'the source' if not source else 'the translation'} has no words")
        return self.attention.words(), source, target
