"""Language models: n-grams with modified Kneser–Ney smoothing, and networks, which are translators without a source.

    model = saccade.lm.train("europarl.en.gz", out="en-lm", model="radford2018")
    model.score(["the session is closed ."]).perplexity

Names are resolved when first used, so that `saccade --help` loads neither torch nor numpy.
"""

from typing import TYPE_CHECKING

from saccade.lazy import import_on_first_use

if TYPE_CHECKING:
    from saccade.data.text_files import read_lines as read_lines
    from saccade.lm.generation import generate_texts as generate_texts
    from saccade.lm.loading import load as load
    from saccade.lm.loading import load_network as load_network
    from saccade.lm.loading import load_ngrams as load_ngrams
    from saccade.lm.network_model import NetworkModel as NetworkModel
    from saccade.lm.training import train as train
    from saccade.lm.training import train_language_model as train_language_model
    from saccade.ngrams.chen1998 import Ngrams as Ngrams
    from saccade.ngrams.ngram_model import NgramModel as NgramModel
    from saccade.ngrams.scores import TextModel as TextModel
    from saccade.ngrams.scores import TextScore as TextScore
    from saccade.ngrams.scores import TotalScore as TotalScore

import_on_first_use(__name__)
