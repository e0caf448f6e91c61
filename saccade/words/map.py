"""A map of words: their vectors in two dimensions, with labels that do not overlap."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from saccade.errors import Say, UserError, say
from saccade.inspect.figures import save_figure
from saccade.inspect.heatmap import drawable, drawable_language, write_label
from saccade.language import Bilingual, preferred_language
from saccade.words.options import MapOptions, Projection
from saccade.words.vectors import Matrix, WordVectors

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

_SIDES = ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))  # of its point, where a label may be
_AWAY = 4  # points between a label and its point
_SIDE_OF = {-1: "right", 0: "center", 1: "left"}
_LEVEL_OF = {-1: "top", 0: "center", 1: "bottom"}


def draw_map(
    vectors: WordVectors,
    options: MapOptions | None = None,
    ax: "Axes | None" = None,
    *,
    out: Path | None = None,
    say: Say = say,
) -> "Axes":
    """Draw words at the places of their vectors, and write the figure to `out`. A label that would overlap others at
    every side of its point is left out, and the point stays; `say` gets their number."""
    try:
        from matplotlib import pyplot
        from matplotlib.font_manager import FontProperties
    except ImportError:
        raise UserError("figures need matplotlib: pip install matplotlib") from None
    options = options or MapOptions()
    words = choose_words(vectors, options)
    points = project(np.stack([vectors[word] for word in words]), options.projection, options.seed)
    if ax is None:
        _, ax = pyplot.subplots(figsize=(9, 7), layout="constrained")
    requested = set(options.words)
    colours = ["tab:orange" if word in requested else "tab:blue" for word in words]
    ax.scatter(points[:, 0], points[:, 1], s=8, c=colours)
    ax.set_axis_off()
    _write_title(ax, vectors.name, options, len(words), say)
    labels, fonts, note = drawable(words)
    if note is not None:
        say(note)
    ax.figure.canvas.draw()  # which fixes the place of everything but the labels
    taken, left_out = list["Bbox"](), 0
    for point, label, font in zip(points, labels, fonts, strict=True):
        properties = FontProperties(fname=font, size=8) if font else FontProperties(size=8)
        box = _place_label(ax, point, label, properties, taken)
        taken += [] if box is None else [box]
        left_out += box is None
    if left_out:
        say(f"{left_out} of {len(words)} labels would overlap others and are left out; show fewer words")
    if out is not None:
        save_figure(out)
    return ax


def _write_title(ax: "Axes", name: str, options: MapOptions, count: int, say: Say) -> None:
    method = "PCA" if options.projection == "pca" else "t-SNE"
    title = Bilingual(en=f"{name}: {method} of {count} words", zh=f"{name}：{count} 个词（{method}）")
    language = drawable_language([title], options.lang or preferred_language(), say)
    write_label(ax.set_title("", fontsize=10), title.within(language))


def _place_label(
    ax: "Axes", point: NDArray[np.float64], label: str, font: object, taken: Sequence["Bbox"]
) -> "Bbox | None":
    """Write a label at the first side of its point where it overlaps no other → where it is, or None."""
    for x, y in _SIDES:
        text = ax.annotate(
            label,
            (point[0], point[1]),
            xytext=(_AWAY * x, _AWAY * y),
            textcoords="offset points",
            ha=_SIDE_OF[x],
            va=_LEVEL_OF[y],
            fontproperties=font,
            parse_math=False,
        )
        box = text.get_window_extent()
        if not any(box.overlaps(other) for other in taken):
            return box
        text.remove()
    return None


def choose_words(vectors: WordVectors, options: MapOptions) -> list[str]:
    """The words that were requested, with their neighbours; else frequent ones."""
    if not options.words:
        chosen = vectors.words[options.skip :][: options.top] or vectors.words[: options.top]
    else:
        near = [other.word for word in options.words for other in vectors.similar(word, options.neighbours)]
        chosen = [vectors.words[vectors.place(word)] for word in options.words] + near
    chosen = list(dict.fromkeys(chosen))
    if len(chosen) < 3:
        raise UserError(f"a map needs at least 3 words, got {len(chosen)}; give more --words, or --neighbours 10")
    return chosen


def project(matrix: Matrix, projection: Projection, seed: int) -> NDArray[np.float64]:
    """Vectors (N, D) → points (N, 2)"""
    if projection == "tsne":
        try:
            from sklearn.manifold import TSNE
        except ImportError:
            raise UserError("--projection tsne needs scikit-learn: pip install scikit-learn; or use pca") from None
        perplexity = min(30.0, (len(matrix) - 1) / 3)
        points: NDArray[np.float64] = TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(matrix)
        return points
    centred = matrix.astype(np.float64) - matrix.mean(0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    axes = axes[:2] * np.where(axes[:2].sum(1, keepdims=True) < 0, -1, 1)  # the sign of an axis is arbitrary
    projected: NDArray[np.float64] = centred @ axes.T
    return projected
