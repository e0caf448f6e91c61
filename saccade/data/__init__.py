"""Pairs of texts, from files to encoded corpora. Batches, which need torch, are in `saccade.data.batching`."""

from saccade.data.cache import cache_folder, cache_key, cached
from saccade.data.corpus import Corpus, DamagedError, Report
from saccade.data.reading import PairFiles, TextPair, read_lines
from saccade.data.split import Split

__all__ = [
    "Corpus",
    "DamagedError",
    "PairFiles",
    "Report",
    "Split",
    "TextPair",
    "cache_folder",
    "cache_key",
    "cached",
    "read_lines",
]
