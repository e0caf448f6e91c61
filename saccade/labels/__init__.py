"""Labels of texts and of words: classifiers and taggers, which read a text by any encoder and any attention.

    model = saccade.labels.train("reviews.tsv", kind="classify", out="reviews")
    model.predict(["the soup was not bad."])[0].label

Names are resolved when first used, so that `saccade --help` loads neither torch nor numpy.
"""

from typing import TYPE_CHECKING

from saccade.lazy import import_on_first_use

if TYPE_CHECKING:
    from saccade.data.text_files import read_lines as read_lines
    from saccade.labels.label_model import LabelModel as LabelModel
    from saccade.labels.label_model import load as load
    from saccade.labels.predictions import HopAttention as HopAttention
    from saccade.labels.predictions import LabelledText as LabelledText
    from saccade.labels.predictions import TaggedText as TaggedText
    from saccade.labels.scores import LabelScores as LabelScores
    from saccade.labels.training import train as train
    from saccade.labels.training import train_labels as train_labels

import_on_first_use(__name__)
