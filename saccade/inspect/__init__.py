"""Figures: heatmaps in the terminal and with matplotlib, charts, and reports in one HTML file."""

from saccade.inspect.chart import Interval
from saccade.inspect.heatmap import plot_heatmap, terminal_heatmap
from saccade.inspect.report import ComparedSentence, Panel, Report, Target

__all__ = [
    "ComparedSentence",
    "Interval",
    "Panel",
    "Report",
    "Target",
    "plot_heatmap",
    "terminal_heatmap",
]
