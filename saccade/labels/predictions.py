"""What a classifier or a tagger says about a text."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from saccade.language import Bilingual, Language, preferred_language

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import Console


@dataclass(frozen=True)
class LabelledText:
    text: str
    label: str
    probabilities: Mapping[str, float]  # of all labels, the most probable first

    @property
    def probability(self) -> float:
        return self.probabilities[self.label]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class TaggedText:
    words: tuple[str, ...]
    tags: tuple[str, ...]
    probabilities: tuple[float, ...]  # of the tags

    @property
    def text(self) -> str:
        return " ".join(self.words)

    @property
    def label(self) -> str:
        return " ".join(self.tags)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class HopAttention:
    """What each hop of a classifier read: a row per hop, a column per word or token."""

    text: str
    words: tuple[str, ...]
    weights: NDArray[np.float64]  # (hops, words)
    label: str

    @property
    def hops(self) -> list[str]:
        return [f"hop {number}" for number in range(1, len(self.weights) + 1)]

    @property
    def overlap(self) -> float:
        """How much two hops read alike: the mean cosine of their weights, 0 if no word is read by both."""
        directions = self.weights / np.maximum(np.linalg.norm(self.weights, axis=1, keepdims=True), 1e-12)
        cosines, count = directions @ directions.T, len(self.weights)
        return float((cosines.sum() - np.trace(cosines)) / max(1, count * (count - 1)))

    def show(self, console: "Console | None" = None) -> None:
        """Print a heatmap in the terminal."""
        from saccade.inspect import terminal_heatmap

        terminal_heatmap(self.weights, self.words, self.hops, console=console)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        lang: Language | None = None,
        say: Callable[[str], None] | None = None,
    ) -> "Axes":
        """Draw a heatmap, with labels in English or Chinese; by default, as LANG asks. If no font has a character,
        `say` is called with the font to install."""
        from saccade.inspect import plot_heatmap
        from saccade.inspect.heatmap import drawable_language

        names = [Bilingual(en=name, zh=f"第 {number} 跳") for number, name in enumerate(self.hops, 1)]
        language = drawable_language(names, lang or preferred_language(), say)
        hops = [name.within(language) for name in names]
        return plot_heatmap(self.weights, self.words, hops, ax=ax, sides=None, language=language, say=say)

    def save(self, path: Path, *, lang: Language | None = None, say: Callable[[str], None] | None = None) -> None:
        """Draw a heatmap into a .svg, .png or .pdf file."""
        from saccade.inspect.figures import save_figure

        self.plot(lang=lang, say=say)
        save_figure(path)
