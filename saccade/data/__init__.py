"""Pairs of texts, from files to encoded corpora. Batches, which need torch, are in `saccade.data.batching`."""

from saccade.data.arrays import DamagedError
from saccade.data.cache import cache_folder, cache_key, cached
from saccade.data.cleaning import Cleaning, LeftOut, Report, Verdict
from saccade.data.corpus import Corpus, Mixture
from saccade.data.formats import Fields, PairFiles
from saccade.data.opening import Listed, Pairs, open_pairs
from saccade.data.reading import TextPair, read_lines, tagged
from saccade.data.selection import Selection
from saccade.data.split import Split
from saccade.data.streaming import Stream
from saccade.data.windows import Window, Windows

__all__ = [
    "Cleaning",
    "Corpus",
    "DamagedError",
    "Fields",
    "LeftOut",
    "Listed",
    "Mixture",
    "PairFiles",
    "Pairs",
    "Report",
    "Selection",
    "Split",
    "Stream",
    "TextPair",
    "Verdict",
    "Window",
    "Windows",
    "cache_folder",
    "cache_key",
    "cached",
    "open_pairs",
    "read_lines",
    "tagged",
]
