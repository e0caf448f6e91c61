"""How many texts are translated at once, unless the user decides. A GPU is idle with batches that fill a CPU."""

import torch

from saccade.decode.search.graphs import kept_bytes

BATCH_TOKENS = 8192  # source tokens × hypotheses in a batch on a CPU; fewer need less memory
CHUNK = 512  # texts of a stream that are sorted and translated together on a CPU

_LARGEST = 1 << 19  # beyond this, a GPU is not faster
_BYTES = 1 << 17  # that a token of a hypothesis may need: keys and values of a large decoder, and scores of its words
_CHUNK_ON_GPU = 8192


def choose_batch_tokens(device: torch.device) -> int:
    """A power of two, so that a batch does not depend on every byte that is free. Batches that do not fit are halved
    in any case."""
    if device.type != "cuda":
        return BATCH_TOKENS
    free, _ = torch.cuda.mem_get_info(device)
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    fitting = (free + unused + kept_bytes(device)) // _BYTES
    return max(BATCH_TOKENS, min(_LARGEST, (1 << fitting.bit_length()) // 2))


def choose_chunk(device: torch.device) -> int:
    return CHUNK if device.type != "cuda" else _CHUNK_ON_GPU
