"""Bengio, Ducharme, Vincent, Jauvin (2003): A Neural Probabilistic Language Model. A network reads a window of words,
each of which has a vector: similar words get similar vectors, so that one sentence teaches something about many others.

    (1) x_t = [E w_{t−n+1}; …; E w_{t−1}]                  the vectors of the n − 1 words before, side by side
    (2) p(w_t) = softmax(b + W x_t + U tanh(d + H x_t))

`direct = false` leaves W out. Before the beginning of a text, the window holds start symbols.

Deviations: optional dropout; trained by the optimiser of the recipe (the paper: stochastic gradient descent), without
the mixture with a trigram.
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.layers.dropout import DropoutConfig, make_dropout
from saccade.layers.embedding import Embeddings
from saccade.models.contract import PaperInfo
from saccade.models.language_model import Fixed, LanguageModel
from saccade.ranges import Range, Width
from saccade.text import BOS


@dataclass(frozen=True, kw_only=True)
class Config(DropoutConfig):
    order: Annotated[int, Range(least=2, most=1_000)] = 5  # n: the word that is predicted and n − 1 words before it
    embedding: Width = 30  # m: width of the word vectors
    hidden: Width = 100  # h: width of the hidden layer
    direct: bool = True  # connect the word vectors with the output directly, too (W)


class Moving(NamedTuple):
    before: Tensor  # (R, n − 2) the words before the last


class Bengio2003(LanguageModel[Moving]):
    config_type = Config
    PRESETS = {
        "tiny": Config(embedding=32, hidden=64, direct=False),
        "small": Config(embedding=64, hidden=256, direct=False),
        "base": Config(embedding=256, hidden=512, direct=False, dropout=0.2),
        "paper": Config(),
    }
    paper = PaperInfo(
        "Bengio, Ducharme, Vincent, Jauvin",
        2003,
        "A Neural Probabilistic Language Model",
        "a window of words",
    )

    def __init__(self, config: Config, source_size: int, target_size: int) -> None:
        super().__init__(config, source_size, target_size)
        window = (config.order - 1) * config.embedding
        features = config.hidden + window * config.direct
        self.embeddings = Embeddings(None, target_size, config.embedding, features=features)  # its output is [U, W]
        self.of_window = nn.Linear(window, config.hidden)
        self.embedding_dropout = make_dropout(config.at_embedding)
        self.output_dropout = make_dropout(config.at_output)

    def begin(self, texts: int) -> Moving:
        words = torch.full((texts, self.config.order - 2), BOS, device=self.embeddings.target.weight.device)
        return Moving(words)

    def step(self, token: Tensor, t: Tensor, fixed: Fixed, moving: Moving) -> tuple[Tensor, Moving]:
        window = torch.cat([moving.before, token[:, None]], 1)
        return self.embeddings.output(self._read(window)), Moving(window[:, 1:])

    def features(self, source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        words = F.pad(target, (self.config.order - 2, 0), value=BOS)
        return self._read(words.unfold(1, self.config.order - 1, 1))

    def _read(self, windows: Tensor) -> Tensor:
        """(…, n − 1) words → [tanh(d + H x); x], of which equation 2 makes logits"""
        vectors = self.embedding_dropout(self.embeddings.of_target(windows)).flatten(-2)  # equation 1
        hidden = self.output_dropout(torch.tanh(self.of_window(vectors)))
        return torch.cat([hidden, vectors], -1) if self.config.direct else hidden
