"""Draws: what each sentence draws is decided by the seed and its number, and by nothing else."""

import numpy as np
import torch
from torch import Tensor

from saccade.decode.search.options import Search


class Streams:
    """A generator a sentence."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._streams: dict[int, torch.Generator] = {}

    def noise(self, sentences: list[int], shape: tuple[int, ...], device: torch.device) -> Tensor:
        """(B, *shape) of Gumbel noise: log p + noise is largest at a token as often as it is probable."""
        rows = [torch.empty(shape).exponential_(generator=self._of(sentence)) for sentence in sentences]
        return -torch.stack(rows).clamp_min_(torch.finfo(torch.float32).tiny).to(device).log()

    def _of(self, sentence: int) -> torch.Generator:
        if sentence not in self._streams:
            (state,) = np.random.SeedSequence((self._seed, sentence)).generate_state(1, np.uint64).tolist()
            self._streams[sentence] = torch.Generator().manual_seed(state)
        return self._streams[sentence]


def likely(log_probs: Tensor, how: Search) -> Tensor:
    """(…, V) with −∞ for what is not drawn from. Each limit is asked of the same probabilities, at the temperature;
    the most probable token passes them all."""
    probs = torch.softmax(log_probs, -1)
    least = how.min_p * probs.amax(-1, keepdim=True)
    if how.top_k is not None and how.top_k < probs.shape[-1]:
        least = torch.maximum(least, probs.topk(how.top_k, -1).values[..., -1:])
    if how.top_p < 1:
        falling = probs.sort(-1, descending=True).values
        before = falling.cumsum(-1) - falling  # the mass of all that is more probable
        last = ((before < how.top_p).sum(-1, keepdim=True) - 1).clamp_min(0)
        least = torch.maximum(least, falling.gather(-1, last))
    return log_probs.masked_fill(probs < least, float("-inf"))
