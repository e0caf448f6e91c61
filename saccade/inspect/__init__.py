"""Looking at what a model did: heatmaps in the terminal and as figures, and a report in one HTML file."""

from saccade.inspect.chart import Interval
from saccade.inspect.heatmap import plot_heatmap, terminal_heatmap
from saccade.inspect.report import MOST_DRAWN, Beside, Example, Panel, Report, Target

__all__ = [
    "MOST_DRAWN",
    "Beside",
    "Example",
    "Interval",
    "Panel",
    "Report",
    "Target",
    "plot_heatmap",
    "terminal_heatmap",
]
