"""One translation: its text, its scores, the model's confidence, and the attention between source and text."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from saccade.align import Links
from saccade.align.attention import NO_ATTENTION, PairAttention, SegmentedText, TokenWeights
from saccade.decode.search.recording import SearchTree
from saccade.errors import UserError
from saccade.language import Language, preferred_language
from saccade.text.words import TextUnit, UnitChoice

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import Console

    from saccade.decode.confidence import Calibration


@dataclass(frozen=True, kw_only=True)
class ReplacedWord:
    """An unknown word that was replaced by a source word, or by its translation in a dictionary."""

    words: tuple[int, int]  # the words [first, end) of the text, from 0
    source_word: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Translation:
    """A translation with its scores. `plot()`, `show()` and a notebook draw its attention.

    `attention`, `weights` and `alignment` are computed when they are first read, by one teacher-forced pass over the
    translation. They are None for a model that reads the source as one fixed vector.
    """

    source: str
    text: str
    tokens: tuple[str, ...]  # without start and end
    score: float
    log_prob: float
    token_log_probs: Sequence[float]  # of each token, and of the end symbol if it ended
    ended: bool  # False: cut off at the maximum length
    alternatives: tuple["Translation", ...] = ()  # the other translations of the n best
    # For people: a placeholder that was lost, or invented and removed; a text that was too long.
    notes: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()  # constraints that it does not meet, each with the reason
    parts: tuple["Translation", ...] = ()  # of a text that was too long to be translated whole
    replaced: tuple[ReplacedWord, ...] = ()
    tree: SearchTree | None = field(default=None, repr=False, compare=False)  # of the search, if recorded
    attend: Callable[[], PairAttention] | None = field(default=None, repr=False, compare=False)
    segment: Callable[[], SegmentedText] | None = field(default=None, repr=False, compare=False)
    calibration: "Calibration | None" = field(default=None, repr=False, compare=False)  # of the model that wrote it

    @cached_property
    def attention(self) -> PairAttention | None:
        return None if self.attend is None else self.attend()

    @property
    def confidence(self) -> float | None:
        """The expected chrF, from 0 to 1; None if the model is not calibrated or the source is blank."""
        if self.calibration is None or not self.token_log_probs:
            return None
        return self.calibration.of_sentence(self.token_log_probs)

    @property
    def token_confidences(self) -> tuple[float, ...] | None:
        """For each of `token_log_probs`, the probability that the token is right if those before it are."""
        return None if self.calibration is None else self.calibration.of_tokens(self.token_log_probs)

    @property
    def word_confidences(self) -> tuple[tuple[str, float], ...] | None:
        """Each word, with the probability that all of its tokens are right."""
        if self.parts:
            by_part = [part.word_confidences for part in self.parts]
            return None if None in by_part else tuple(word for words in by_part for word in words or ())
        if self.calibration is None or self.segment is None:
            return None
        segments = self.segment()
        confidences = self.calibration.of_words(self.token_log_probs, segments.spans, len(segments.words))
        return tuple(zip(segments.words, confidences, strict=True))

    @property
    def token_weights(self) -> TokenWeights | None:
        """(H, T, S + 1): one row per token, one column per source token, and one for the source's end"""
        return None if self.attention is None else self.attention.token_weights()

    @property
    def unit(self) -> TextUnit | None:
        """The unit of `weights` and `alignment`: words, or tokens ("piece", see `saccade.text.words`). For the other
        unit, call `attention.weights` and `attention.alignment` with by="word" or by="piece"."""
        return None if self.attention is None else self.attention.unit()

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """(T, S) attention between words, or between tokens"""
        return None if self.attention is None else self.attention.weights()

    @property
    def alignment(self) -> Links | None:
        """Links (source word, target word), or between tokens, counted from 0"""
        return None if self.attention is None else self.attention.alignment()

    @property
    def n_best(self) -> tuple["Translation", ...]:
        """This translation and its alternatives."""
        return (self, *self.alternatives)

    def rank(self, scores: Sequence[float]) -> list[int]:
        """The places of the n best by these scores, best first. Translations that meet more constraints come first,
        then those that ended; equal ones stay in order."""
        keys = [(len(each.unmet), not each.ended, -score) for each, score in zip(self.n_best, scores, strict=True)]
        return sorted(range(len(keys)), key=keys.__getitem__)

    def rescore(self, scores: Sequence[float]) -> "Translation":
        """The n best with these scores, in their order."""
        best, *others = (
            replace(self.n_best[place], score=scores[place], alternatives=(), tree=None) for place in self.rank(scores)
        )
        return replace(best, alternatives=tuple(others), tree=self.tree)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        by: UnitChoice = "auto",
        lang: Language | None = None,
        say: Callable[[str], None] | None = None,
    ) -> "Axes":
        """Draw the attention as a figure, with labels in English or Chinese; by default, as LANG asks. If no font has
        a character, `say` is called with the font to install; without `say`, this is a warning."""
        from saccade.inspect import plot_heatmap

        return plot_heatmap(*self._heatmap(by), ax=ax, language=lang or preferred_language(), say=say)

    def show(self, console: "Console | None" = None, *, by: UnitChoice = "auto") -> None:
        """Print the attention as a heatmap in the terminal."""
        from saccade.inspect import terminal_heatmap

        terminal_heatmap(*self._heatmap(by), console=console)

    def as_dict(self, *, by: UnitChoice = "auto") -> dict[str, Any]:
        """Plain values for JSON. The links of `alignment` are between words or tokens; see `unit`."""
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
            **self._plain_values(),
            "ended": self.ended,
            "notes": list(self.notes),
            "unmet": list(self.unmet),
            "parts": [{"source": part.source, "text": part.text} for part in self.parts],
            "token_confidences": self.token_confidences and list(self.token_confidences),
            "word_confidences": self.word_confidences and [list(word) for word in self.word_confidences],
            **aligned,
            "alternatives": [other._plain_values() for other in self.alternatives],
        }

    def _plain_values(self) -> dict[str, Any]:
        return {
            "text": self.text,
            "score": self.score,
            "log_prob": self.log_prob,
            "replaced": [asdict(word) for word in self.replaced],
            "tokens": list(self.tokens),
            "token_log_probs": list(self.token_log_probs),
            "confidence": self.confidence,
        }

    def _repr_html_(self) -> str:
        """The texts and the heatmap for a notebook, with inline styles and no scripts."""
        from html import escape

        from saccade.inspect.heatmap import html_heatmap

        texts = f'<p dir="auto">{escape(self.source)}<br><b>{escape(self.text)}</b></p>'
        if self.attention is None or not all(self.attention.units()):
            return texts
        return texts + html_heatmap(*self._heatmap("auto"))

    def _heatmap(self, by: UnitChoice) -> tuple[NDArray[np.float64], tuple[str, ...], tuple[str, ...]]:
        if self.attention is None:
            raise UserError(NO_ATTENTION)
        source, target = self.attention.units(by)
        if not source or not target:
            side = "the source" if not source else "the translation"
            raise UserError(f"nothing to draw: {side} has no {self.attention.unit(by)}s")
        return self.attention.weights(by=by), source, target
