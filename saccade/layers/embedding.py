"""Source and target embeddings, and whether they are shared."""

import math
from typing import Literal

from torch import Tensor, nn

from saccade.errors import UserError
from saccade.text import PAD

Tie = Literal["none", "target", "all"]


class Embeddings(nn.Module):
    """Source and target embeddings and the output layer. A language model has no source: its size is None.

    `tie` is "none", "target" (the output layer is the target embedding, Press & Wolf 2017) or "all" (and the source
    embedding: both sides must share one vocabulary). `std` is the standard deviation of the first vectors, by default
    width^−½, which suits an output layer that shares them. Untied, the output layer may read `features` of another
    width.
    """

    def __init__(
        self,
        source_size: int | None,
        target_size: int,
        width: int,
        *,
        tie: Tie = "none",
        scale: bool = False,
        std: float | None = None,
        features: int | None = None,
    ) -> None:
        super().__init__()
        if tie == "all" and source_size not in (target_size, None):
            raise UserError(
                f"tied embeddings of both sides need one vocabulary; the source has {source_size} entries, the target "
                f"{target_size}: set model.tie = 'target', or train a joint vocabulary"
            )
        self.scale = math.sqrt(width) if scale else 1.0
        self.target = nn.Embedding(target_size, width, padding_idx=PAD)
        if tie == "all" or source_size is None:
            self.source = self.target
        else:
            self.source = nn.Embedding(source_size, width, padding_idx=PAD)
        self.output = nn.Linear(features or width, target_size, bias=tie == "none")
        for embedding in dict.fromkeys((self.source, self.target)):  # once each, in the same order in every process
            nn.init.normal_(embedding.weight, std=width**-0.5 if std is None else std)
            nn.init.zeros_(embedding.weight[PAD])
        if tie != "none":
            self.output.weight = self.target.weight

    def of_source(self, tokens: Tensor) -> Tensor:
        return self._scaled(self.source(tokens))

    def of_target(self, tokens: Tensor) -> Tensor:
        return self._scaled(self.target(tokens))

    def _scaled(self, vectors: Tensor) -> Tensor:
        return vectors if self.scale == 1.0 else vectors * self.scale
