"""What a language model reads of a text as it predicts each token of it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from saccade.errors import UserError
from saccade.language import Bilingual, Language, preferred_language

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from rich.console import Console


_SIDES = (Bilingual(en="read", zh="读到的词元"), Bilingual(en="predicted", zh="预测的词元"))


@dataclass(frozen=True)
class TextAttention:
    """Row i is the step that predicts token i of the text; it reads the start symbol and the tokens before."""

    tokens: tuple[str, ...]  # that are predicted: the rows
    read: tuple[str, ...]  # the start symbol and all tokens but the last: the columns
    layers: tuple[NDArray[np.float32], ...]  # each (H, T, T)

    def weights(self, layer: int | None = None, head: int | None = None) -> NDArray[np.float64]:
        """(T, T) of a head, or the mean of a layer's heads; by default, of the last layer."""
        place, count = -1 if layer is None else layer, len(self.layers)
        if not -count <= place < count:
            raise UserError(f"layer {layer} does not exist: the model has {count}, counted from 0")
        heads = self.layers[place].astype(np.float64)
        if head is None:
            mean: NDArray[np.float64] = heads.mean(0)
            return mean
        if not -len(heads) <= head < len(heads):
            raise UserError(f"head {head} does not exist: the layer has {len(heads)}, counted from 0")
        chosen: NDArray[np.float64] = heads[head]
        return chosen

    def show(self, console: "Console | None" = None, *, layer: int | None = None, head: int | None = None) -> None:
        """Print a heatmap in the terminal."""
        from saccade.inspect import terminal_heatmap

        terminal_heatmap(self.weights(layer, head), self.read, self.tokens, console=console)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        layer: int | None = None,
        head: int | None = None,
        lang: Language | None = None,
        say: Callable[[str], None] | None = None,
    ) -> "Axes":
        """Draw a heatmap, with labels in English or Chinese; by default, as LANG asks. If no font has a character,
        `say` is called with the font to install."""
        from saccade.inspect import plot_heatmap

        weights, language = self.weights(layer, head), lang or preferred_language()
        return plot_heatmap(weights, self.read, self.tokens, ax=ax, sides=_SIDES, language=language, say=say)

    def save(
        self,
        path: Path,
        *,
        layer: int | None = None,
        head: int | None = None,
        lang: Language | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        """Draw a heatmap into a .svg, .png or .pdf file."""
        from saccade.inspect.figures import save_figure

        self.plot(layer=layer, head=head, lang=lang, say=say)
        save_figure(path)
