"""Language models: how probable a text is, and what comes next. So far, n-grams with modified Kneser–Ney smoothing.

    model = saccade.lm.train("europarl.en.gz", out="en-lm")
    model.score(["the session is closed ."]).perplexity

Names are resolved when first used, so that `saccade --help` loads neither torch nor numpy.
"""

from typing import TYPE_CHECKING

from saccade.lazy import import_on_first_use

if TYPE_CHECKING:
    from saccade.data.text_files import read_lines as read_lines
    from saccade.lm.chen1998 import Ngrams as Ngrams
    from saccade.lm.ngram_model import NgramModel as NgramModel
    from saccade.lm.ngram_model import TextScore as TextScore
    from saccade.lm.ngram_model import TotalScore as TotalScore
    from saccade.lm.ngram_model import load as load
    from saccade.lm.ngram_model import train as train
    from saccade.lm.ngram_model import train_ngrams as train_ngrams

import_on_first_use(__name__)
