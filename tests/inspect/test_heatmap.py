import io
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
import torch
from matplotlib import pyplot
from matplotlib.axes import Axes
from rich.cells import cell_len
from rich.console import Console

from saccade.errors import UserError
from saccade.inspect.heatmap import plot_heatmap, terminal_heatmap

WEIGHTS = [[0.9, 0.1, 0.0], [0.05, 0.25, 0.7]]
SOURCE, TARGET = ["我", "爱你们", "."], ["love", "你"]


@pytest.fixture(autouse=True)
def no_window() -> Iterator[None]:
    pyplot.switch_backend("agg")
    yield
    pyplot.close("all")


def draw(ax: Axes) -> None:
    """Draw the whole figure: matplotlib warns about missing characters only then."""
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.savefig(io.BytesIO())


def printed(
    weights: object, source: list[str], target: list[str], *, width: int = 80, color: bool = False
) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=color, color_system="truecolor" if color else None)
    terminal_heatmap(weights, source, target, console)
    return file.getvalue().splitlines()


def test_columns_line_up_under_wide_characters() -> None:
    lines = printed(WEIGHTS, SOURCE, TARGET)
    assert len({cell_len(line) for line in lines}) == 1
    assert lines[0].split() == SOURCE
    assert [line.split()[0] for line in lines[1:]] == TARGET
    assert lines[1].endswith("█ 90 ░░░ 10     ")
    assert lines[2].endswith("░  5 ░░░ 25 ▓ 70")


def test_colour_carries_the_weights_where_there_is_colour() -> None:
    text = "\n".join(printed(WEIGHTS, SOURCE, TARGET, color=True))
    assert "\x1b[" in text
    assert "48;2;0;34;78" in text  # the darkest step, #00224e
    assert not set("░▒▓█") & set(text)
    assert "90" in text


def test_no_color_disables_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    text = "\n".join(printed(WEIGHTS, SOURCE, TARGET, color=True))
    assert "48;2" not in text
    assert "█" in text


def test_an_ascii_terminal_gets_ascii() -> None:
    raw = io.BytesIO()
    console = Console(file=io.TextIOWrapper(raw, encoding="ascii", write_through=True), width=80)
    terminal_heatmap(WEIGHTS, ["a", "b", "c"], ["d", "e"], console)
    assert b"# 90" in raw.getvalue()


@pytest.mark.parametrize("width", [1, 12, 30, 79])
def test_a_narrow_terminal_shows_all_columns(width: int) -> None:
    source = [f"word{place}" for place in range(20)]
    lines = printed(np.eye(20), source, source, width=width)
    text = " ".join(lines)
    assert all(text.count(word) >= 2 for word in source)
    assert text.count("100") == 20
    assert width < 20 or all(cell_len(line) <= width for line in lines)


def test_markup_and_controls_in_tokens_are_harmless() -> None:
    lines = printed([[1.0, 0.0]], ["[red]", "a\nb"], ["\x1b[2J"])
    assert lines[0].split() == ["[red]", "a\\nb"]
    assert lines[1].lstrip().startswith("\\x1b[2J")


def test_empty_weights_print_no_cells() -> None:
    assert printed(np.zeros((0, 2)), ["a", "b"], [])[0].split() == ["a", "b"]
    assert [line.strip() for line in printed(np.zeros((1, 0)), [], ["a"])] == ["", "a"]


@pytest.mark.parametrize("show", [terminal_heatmap, plot_heatmap])
def test_a_wrong_shape_is_named(show: Callable[..., object]) -> None:
    with pytest.raises(ValueError, match=r"\(2, 3\), got \(3, 2\)"):
        show(np.zeros((3, 2)), SOURCE, TARGET)


def test_a_figure_has_every_label_and_changes_no_global_settings() -> None:
    before = dict(mpl.rcParams)
    ax = plot_heatmap(torch.tensor(WEIGHTS), ["a", "$b$", "longer"], ["x", "y_1"])
    draw(ax)
    assert [label.get_text() for label in ax.get_xticklabels()] == ["a", "$b$", "longer"]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["x", "y_1"]
    assert [label.get_rotation() for label in ax.get_xticklabels()] == [0, 90, 90]
    assert ax.images[0].get_cmap().name == "cividis"
    assert ax.images[0].get_clim() == (0, 1)
    assert dict(mpl.rcParams) == before


def test_the_given_axes_are_used() -> None:
    figure, axes = pyplot.subplots(1, 2)
    assert plot_heatmap(WEIGHTS, ["a", "b", "c"], ["x", "y"], ax=axes[1]) is axes[1]
    assert len(figure.axes) == 2
    assert not axes[0].images


def test_characters_that_no_font_has_are_drawn_as_code_points_with_a_note(only_default_font: None) -> None:
    notes: list[str] = []
    ax = plot_heatmap(WEIGHTS, SOURCE, TARGET, say=notes.append)
    draw(ax)  # matplotlib has nothing to warn of
    assert ax.get_xticklabels()[0].get_text() == "U+6211"
    assert ax.get_yticklabels()[1].get_text() == "U+4F60"
    (note,) = notes
    assert "我" in note and "Noto Sans CJK" in note and "\n" not in note
    with pytest.warns(UserWarning, match="no installed font has 我"):
        plot_heatmap(WEIGHTS, SOURCE, TARGET)


def test_a_label_is_drawn_with_a_font_that_has_its_characters(han_font: Path, install: Callable[[Path], None]) -> None:
    install(han_font)
    ax = plot_heatmap(WEIGHTS, SOURCE, TARGET)
    draw(ax)
    labels = ax.get_xticklabels()
    assert [label.get_text() for label in labels] == ["我", "爱\n你\n们", "."]
    assert [label.get_rotation() for label in labels] == [0, 0, 0]
    assert [label.get_fontproperties().get_file() for label in labels] == [str(han_font), str(han_font), None]


@pytest.mark.parametrize(("sources", "targets"), [(1, 1), (25, 2), (2, 25)])
def test_labels_fit_at_any_size(sources: int, targets: int) -> None:
    source, target = ["unaufhaltsamerweise" * 3] * sources, ["x" * 80] * targets
    ax = plot_heatmap(np.full((targets, sources), 0.5), source, target)
    draw(ax)
    assert min(ax.get_window_extent().size) > 20


def test_an_empty_figure_is_refused() -> None:
    with pytest.raises(ValueError, match=r"at least one target and one source, got \(0, 1\)"):
        plot_heatmap(np.zeros((0, 1)), ["a"], [])


def test_without_matplotlib_the_error_says_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UserError, match=r"pip install matplotlib"):
        plot_heatmap(WEIGHTS, SOURCE, TARGET)


def test_importing_loads_neither_matplotlib_nor_torch() -> None:
    code = (
        "import sys, saccade.inspect, saccade.evaluation;"
        "sys.exit(bool({'matplotlib', 'torch', 'sacrebleu'} & sys.modules.keys()))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
