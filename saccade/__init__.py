"""Saccade: sequence-to-sequence learning in which attention is the first-class, interchangeable part.

Names are resolved when first used, so that `import saccade` loads no torch.
"""

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
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
    from saccade.decode import load as load

_WHERE = {
    "ATTENTIONS": "saccade.attention",
    "Attention": "saccade.attention",
    "Memory": "saccade.attention",
    "Reading": "saccade.attention",
    "Constraints": "saccade.decode",
    "Ensemble": "saccade.decode",
    "Search": "saccade.decode",
    "Translation": "saccade.decode",
    "Translator": "saccade.decode",
    "combine": "saccade.decode",
    "load": "saccade.decode",
}

__all__ = [
    "ATTENTIONS",
    "Attention",
    "Constraints",
    "Ensemble",
    "Memory",
    "Reading",
    "Search",
    "Translation",
    "Translator",
    "__version__",
    "combine",
    "load",
]


# A thread that waits at a barrier of OpenMP spins, by default. Where another program has its core, the others spin for
# as long as that program runs, at every barrier: training becomes 30 times slower. A library of OpenMP reads these
# once, when torch loads it (GNU's reads the first, Intel's and LLVM's both).
_SLEEP_AT_BARRIERS = {"OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"}
if "torch" not in sys.modules:
    for _name, _value in _SLEEP_AT_BARRIERS.items():
        os.environ.setdefault(_name, _value)


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'saccade' has no attribute {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
