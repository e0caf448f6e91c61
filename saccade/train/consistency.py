"""Two predictions of the same target must agree: consistency regularisation, and the perturbation that it needs.

R-Drop (Liang 2021) predicts each target twice, with different dropout, and draws both distributions together:

    L = ½ (CE(p₁) + CE(p₂)) + α/2 · ½ (KL(p₁‖p₂) + KL(p₂‖p₁))

which is half of the paper's loss, so that the weight of the cross-entropy does not depend on it. SimCut (Gao 2022)
predicts from the whole texts and from texts in which some tokens are hidden:

    L = CE(p) + α · KL(p‖p_cut)

Gradients flow through both distributions. The papers use α = 5 and α = 3. SimCut sets the vectors of hidden tokens to
zero; here they are the vector of <unk>, which is learnt, so that this works for every model.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from saccade.data.batching import Batch
from saccade.layers.paired_cross_entropy import PairWeights, paired_cross_entropy
from saccade.models import Seq2Seq
from saccade.text import EOS, PAD, UNK


class Consistency(NamedTuple):
    """The weights α of the two terms, at most one of which is above 0."""

    r_drop: float = 0.0
    simcut: float = 0.0
    cut: float = 0.05  # share of the tokens that SimCut hides

    def __bool__(self) -> bool:
        return self.r_drop > 0 or self.simcut > 0

    def loss(
        self, model: Seq2Seq[Any, Any], batch: Batch, source: Tensor, read: Tensor, smoothing: float
    ) -> tuple[Tensor, Tensor]:
        """The loss to minimise and the plain cross-entropy of a model that reads `source` (B, S) and `read` (B, T),
        both summed over the target's tokens."""
        twice_source, twice_read = (
            torch.cat([tokens, hide_tokens(tokens, self.cut) if self.simcut else tokens]) for tokens in (source, read)
        )
        logits = model(twice_source, batch.source_readable.repeat(2, 1), twice_read).flatten(0, 1)
        wanted = batch.target_out.flatten()
        loss, plain = paired_cross_entropy(logits, wanted, self.weights, ignored=PAD, smoothing=smoothing)
        return loss, plain.sum()

    @property
    def weights(self) -> PairWeights:
        if self.simcut:
            return PairWeights(first=1.0, second=0.0, forward=self.simcut, backward=0.0)
        return PairWeights(first=0.5, second=0.5, forward=self.r_drop / 4, backward=self.r_drop / 4)


def hide_tokens(tokens: Tensor, share: float) -> Tensor:
    """Replace tokens by <unk>, each with probability `share`; padding, bos and eos stay."""
    hidden = (torch.rand(tokens.shape, device=tokens.device) < share) & (tokens > EOS)
    return tokens.masked_fill(hidden, UNK)
