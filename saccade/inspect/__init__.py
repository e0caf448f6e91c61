"""Figures: heatmaps in the terminal and with matplotlib, charts, and reports in one HTML file."""

from saccade.inspect.chart import Interval as Interval
from saccade.inspect.heatmap import plot_heatmap as plot_heatmap
from saccade.inspect.heatmap import terminal_heatmap as terminal_heatmap
from saccade.inspect.report import ComparedSentence as ComparedSentence
from saccade.inspect.report import Panel as Panel
from saccade.inspect.report import Report as Report
from saccade.inspect.report import Target as Target
