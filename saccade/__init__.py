"""Saccade: sequence-to-sequence learning with interchangeable attention.

Names are resolved when first used, so that `import saccade` loads no torch.
"""

import os
import sys
from typing import TYPE_CHECKING

from saccade.lazy import import_on_first_use

__version__ = "0.1.0"

if TYPE_CHECKING:
    from saccade import labels as labels
    from saccade import lm as lm
    from saccade import words as words
    from saccade.api import compare as compare
    from saccade.api import fit as fit
    from saccade.api import get as get
    from saccade.api import list_attentions as list_attentions
    from saccade.api import list_models as list_models
    from saccade.api import list_tasks as list_tasks
    from saccade.api import pretrain as pretrain
    from saccade.api import run_tour as run_tour
    from saccade.attention import ATTENTIONS as ATTENTIONS
    from saccade.attention import Attention as Attention
    from saccade.attention import Memory as Memory
    from saccade.attention import Reading as Reading
    from saccade.decode import Constraints as Constraints
    from saccade.decode import Ensemble as Ensemble
    from saccade.decode import Search as Search
    from saccade.decode import Translation as Translation
    from saccade.decode import Translator as Translator
    from saccade.decode import combine as combine
    from saccade.train.corpus_report import describe_data as describe_data
    from saccade.train.sweep import sweep as sweep
    from saccade.trained_model import Model as Model
    from saccade.trained_model import evaluate as evaluate
    from saccade.trained_model import load as load

# A thread that waits at a barrier of OpenMP spins, by default. Where another program has its core, the others spin for
# as long as that program runs, at every barrier: training becomes 30 times slower. A library of OpenMP reads these
# once, when torch loads it (GNU's reads the first, Intel's and LLVM's both).
_SLEEP_AT_BARRIERS = {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"}
if "torch" not in sys.modules:
    for _name, _value in _SLEEP_AT_BARRIERS.items():
        os.environ.setdefault(_name, _value)

import_on_first_use(__name__)
