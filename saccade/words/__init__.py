"""Word vectors: word2vec on the training loop of all models, the vectors of a folder or a file, and what they know.

    vectors = saccade.words.train("europarl.en.gz", out="en-vectors")
    vectors.similar("commission", 5)

Names are resolved when first used, so that `saccade --help` loads neither torch nor numpy.
"""

from typing import TYPE_CHECKING

from saccade.lazy import import_on_first_use

if TYPE_CHECKING:
    from saccade.words.judging import AnalogyScore as AnalogyScore
    from saccade.words.judging import SimilarityScore as SimilarityScore
    from saccade.words.judging import score_analogies as score_analogies
    from saccade.words.judging import score_similarity as score_similarity
    from saccade.words.learner import train as train
    from saccade.words.learner import train_vectors as train_vectors
    from saccade.words.map import draw_map as draw_map
    from saccade.words.vectors import Neighbour as Neighbour
    from saccade.words.vectors import WordVectors as WordVectors
    from saccade.words.vectors import load as load

import_on_first_use(__name__)
