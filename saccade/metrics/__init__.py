"""Scores of texts against references: the table of metrics, corpus scores, intervals and signatures."""

from saccade.metrics.scores import Counts as Counts
from saccade.metrics.scores import Scores as Scores
from saccade.metrics.scores import score as score
from saccade.metrics.scores import score_pairwise as score_pairwise
from saccade.metrics.table import METRICS as METRICS
from saccade.metrics.table import References as References
from saccade.metrics.table import Tokenisation as Tokenisation
from saccade.metrics.table import alternatives as alternatives
from saccade.metrics.table import choose_tokenisation as choose_tokenisation
from saccade.metrics.table import make_metrics as make_metrics
