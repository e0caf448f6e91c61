"""Random samples. The samples of a sentence depend on the seed and on the sentence's number, and on nothing else."""

import numpy as np
import torch
from torch import Tensor

from saccade.decode.search.hypotheses import NEVER
from saccade.decode.search.options import Search


class SampleNoise:
    """One random generator per sentence."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._generators: dict[int, torch.Generator] = {}

    def draw(self, sentences: list[int], shape: tuple[int, ...], device: torch.device) -> Tensor:
        """(B, *shape) of Gumbel noise: log p + noise is largest at a token with the token's probability."""
        rows = [torch.empty(shape).exponential_(generator=self._generator(sentence)) for sentence in sentences]
        return -torch.stack(rows).clamp_min_(torch.finfo(torch.float32).tiny).to(device).log()

    def _generator(self, sentence: int) -> torch.Generator:
        if sentence not in self._generators:
            (state,) = np.random.SeedSequence((self._seed, sentence)).generate_state(1, np.uint64).tolist()
            self._generators[sentence] = torch.Generator().manual_seed(state)
        return self._generators[sentence]


def mask_improbable(log_probs: Tensor, search: Search) -> Tensor:
    """(…, V) with −∞ for tokens that are not sampled. Every limit is applied to the probabilities at the temperature;
    the most probable token passes all of them."""
    probs = torch.softmax(log_probs, -1)
    least = search.min_p * probs.amax(-1, keepdim=True)
    if search.top_k is not None and search.top_k < probs.shape[-1]:
        least = torch.maximum(least, probs.topk(search.top_k, -1).values[..., -1:])
    if search.top_p < 1:
        falling = probs.sort(-1, descending=True).values
        before = falling.cumsum(-1) - falling  # the probability of all tokens that are more probable
        last = ((before < search.top_p).sum(-1, keepdim=True) - 1).clamp_min(0)
        least = torch.maximum(least, falling.gather(-1, last))
    return log_probs.masked_fill(probs < least, NEVER)
