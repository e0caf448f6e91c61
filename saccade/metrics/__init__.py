"""Scores of texts against references: the table of metrics, corpus scores, intervals and signatures."""

from saccade.metrics.scores import METRICS as METRICS
from saccade.metrics.scores import Counts as Counts
from saccade.metrics.scores import References as References
from saccade.metrics.scores import Scores as Scores
from saccade.metrics.scores import Tokenisation as Tokenisation
from saccade.metrics.scores import alternatives as alternatives
from saccade.metrics.scores import choose_tokenisation as choose_tokenisation
from saccade.metrics.scores import make_metrics as make_metrics
from saccade.metrics.scores import score as score
from saccade.metrics.scores import score_pairwise as score_pairwise
