"""Pairs of texts, from files to encoded corpora. Batches, which need torch, are in `saccade.data.batching`."""

from saccade.data.cache import DamagedError, cache_key, load_or_build
from saccade.data.cleaning import Cleaning, CleaningReport, LeftOut, Verdict
from saccade.data.corpus import Corpus, Mixture, PairWindow, WindowSource
from saccade.data.formats import PairFiles, open_pairs
from saccade.data.selection import Selection, Split
from saccade.data.sources import Fields, ListedPairs, PairSource, TextPair, add_tag
from saccade.data.streaming import Stream
from saccade.data.text_files import read_lines

__all__ = [
    "Cleaning",
    "CleaningReport",
    "Corpus",
    "DamagedError",
    "Fields",
    "LeftOut",
    "ListedPairs",
    "Mixture",
    "PairFiles",
    "PairSource",
    "PairWindow",
    "Selection",
    "Split",
    "Stream",
    "TextPair",
    "Verdict",
    "WindowSource",
    "add_tag",
    "cache_key",
    "load_or_build",
    "open_pairs",
    "read_lines",
]
