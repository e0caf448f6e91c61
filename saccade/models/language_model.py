"""The contract of a language model: an encoder-decoder without the encoder, which writes a text and reads no source.

    fixed, moving = model.start(source, readable)          # only the number of rows of `source` matters
    logits, moving = model.step(token, t, fixed, moving)   # p(x_{t+1} | x_1 … x_t)
    logits = model(source, readable, target)

So search, constraints, sampling, scoring and the training loop serve language models as they serve translation: the
source of every text is empty, and both sides have the same vocabulary.
"""

from abc import abstractmethod
from typing import Any, TypeVar

from torch import Tensor

from saccade.models.contract import Seq2Seq

MovingT = TypeVar("MovingT")
Fixed = tuple[()]  # there is no source


class LanguageModel(Seq2Seq[Fixed, MovingT]):
    reads_source = False
    embeddings: Any

    @property
    def own(self) -> list[str]:
        """The names, as in a trace, of the attentions through which it reads its own text."""
        return []

    @abstractmethod
    def begin(self, texts: int) -> MovingT:
        """The state before the first token, with one row per text"""

    @abstractmethod
    def features(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        """What `embeddings.output` makes logits of, from `target` alone, (B, T, ·)"""

    def start(self, source: Tensor, readable: Tensor) -> tuple[Fixed, MovingT]:
        return (), self.begin(source.shape[0])

    def forward(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        logits: Tensor = self.embeddings.output(self.features(source, readable, target))
        return logits
