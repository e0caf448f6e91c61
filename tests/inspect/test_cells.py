import numpy as np
import pytest
from matplotlib import colormaps, colors

from saccade.inspect.cells import CIVIDIS, ink, percent, scale, steps, visible


def luminance(colour: str) -> float:
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colors.to_rgb(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_colours_equal_those_of_matplotlib() -> None:
    cividis = colormaps["cividis"]
    assert [colors.to_hex(cividis(place)) for place in np.linspace(0, 1, len(CIVIDIS))] == list(CIVIDIS)


@pytest.mark.parametrize("step", range(len(CIVIDIS)))
def test_numbers_are_legible_on_every_colour(step: int) -> None:
    dark, light = sorted((luminance(CIVIDIS[step]), luminance(ink(step))))
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_the_scale_is_fixed_unless_weights_exceed_it() -> None:
    assert scale(np.array([[0.2, 0.3]])) == (0, 1)
    assert scale(np.array([[-1.0, 3.0]])) == (-1, 3)
    assert scale(np.zeros((0, 0))) == (0, 1)
    assert steps(np.array([[0.0, 0.5, 1.0]])).tolist() == [[0, 10, 20]]
    assert steps(np.array([[-1.0, 3.0]])).tolist() == [[0, 20]]


@pytest.mark.parametrize(
    ("weight", "shown"), [(0, ""), (0.004, ""), (-0.001, ""), (0.126, "13"), (1, "100"), (-0.2, "-20")]
)
def test_percents(weight: float, shown: str) -> None:
    assert percent(weight) == shown


def test_invisible_characters_are_written_out() -> None:
    assert visible("a\tb\x00\u202e\u3000") == "a\\tb\\x00\\u202e\\u3000"
    assert visible("我 می\u200cخواهم 👩\u200d🚀") == "我 می\u200cخواهم 👩\u200d🚀"
