"""Pairs of texts, from files to encoded corpora. Batches, which need torch, are in `saccade.data.batching`."""

from saccade.data.cache import DamagedError as DamagedError
from saccade.data.cache import cache_key as cache_key
from saccade.data.cache import load_or_build as load_or_build
from saccade.data.cleaning import Cleaning as Cleaning
from saccade.data.cleaning import CleaningReport as CleaningReport
from saccade.data.cleaning import LeftOut as LeftOut
from saccade.data.cleaning import Split as Split
from saccade.data.cleaning import Verdict as Verdict
from saccade.data.corpus import Corpus as Corpus
from saccade.data.corpus import Mixture as Mixture
from saccade.data.corpus import PairWindow as PairWindow
from saccade.data.corpus import Stream as Stream
from saccade.data.corpus import WindowSource as WindowSource
from saccade.data.formats import PairFiles as PairFiles
from saccade.data.formats import open_pairs as open_pairs
from saccade.data.selection import Selection as Selection
from saccade.data.sources import Fields as Fields
from saccade.data.sources import ListedPairs as ListedPairs
from saccade.data.sources import PairSource as PairSource
from saccade.data.sources import TextPair as TextPair
from saccade.data.sources import add_tag as add_tag
from saccade.data.text_files import read_lines as read_lines
