"""The floating-point operations and bytes that a model needs, counted from its weights.

A matrix product of an (m, k) by a (k, n) matrix is 2·m·k·n operations; nothing else is counted. A weight matrix is
applied at every position of its side: those of the encoder, and the key and value projections of a cross-attention, at
S source positions, the others at T target positions. An attention with keys of width k and values of width v adds
2·T·S·(k + v). A backward pass takes twice the operations of the forward pass.
"""

from dataclasses import dataclass
from typing import Any

from torch import nn
from work import Work

from saccade.models import Seq2Seq

ITEM_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2}
_ONCE = ("first.of_source", "summary")  # applied once per sentence


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Of a model: the numbers in its weight matrices by where they are applied, and the widths of its attentions."""

    source: int
    target: int
    once: int
    read: int  # key and value widths of all cross-attentions, summed
    encoder_read: int  # of the encoder's self-attentions
    decoder_read: int  # of the decoder's self-attentions

    @classmethod
    def of(cls, model: Seq2Seq[Any, Any]) -> "Sizes":
        numbers = {"source": 0, "target": _output(model), "once": 0}
        projections = {f"{site}.{part}" for site in model.cross for part in ("of_keys", "of_values")}
        once = _ONCE if model.cross else (*_ONCE, "of_context")  # without attention, the context is the same throughout
        for name, weight in model.named_parameters():
            if weight.dim() > 1 and not name.startswith("embeddings.") and weight.shape[0] > 1:
                numbers[_side(name, projections, once)] += weight.numel()
        sites = {name: module for name, module in model.named_modules() if hasattr(module, "of_keys")}
        reads = {name: _widths(site) for name, site in sites.items()}
        cross = set(model.cross)
        return cls(
            **numbers,
            read=sum(width for name, width in reads.items() if name in cross),
            encoder_read=sum(width for name, width in reads.items() if name.startswith("encoder")),
            decoder_read=sum(
                width for name, width in reads.items() if name not in cross and not name.startswith("encoder")
            ),
        )


def flops_per_unit(model: Seq2Seq[Any, Any], work: Work) -> float:
    """Per target token in training, per sentence in decoding."""
    sizes, S, T = Sizes.of(model), work.source, work.target
    of_source = S * sizes.source + sizes.once + S * S * sizes.encoder_read
    if work.phase == "training":
        forward = of_source + T * sizes.target + T * S * sizes.read + T * T * sizes.decoder_read
        return 3 * 2 * forward / T
    of_hypothesis = T * sizes.target + T * S * sizes.read + T * (T + 1) // 2 * sizes.decoder_read
    return 2 * (of_source + work.beam * of_hypothesis)


def decoding_bytes(model: Seq2Seq[Any, Any], work: Work) -> float:
    """Bytes that the decoder must read per sentence: the weights at every step, divided among the batch; what is
    remembered of the source, once per sentence and step; and the cache, for every hypothesis and step."""
    sizes, S, T = Sizes.of(model), work.source, work.target
    cache = work.beam * T * (T + 1) // 2 * sizes.decoder_read
    return ITEM_BYTES[work.dtype] * (T * sizes.target / work.rows + T * S * sizes.read + cache)


def _side(name: str, projections: set[str], once: tuple[str, ...]) -> str:
    if any(part in name for part in once):
        return "once"
    is_source = name.startswith("encoder") or name.removesuffix(".weight") in projections
    return "source" if is_source else "target"


def _output(model: Seq2Seq[Any, Any]) -> int:
    """Numbers in the matrix of the output layer, whether or not it is tied"""
    width = model.embeddings.target.weight.shape[1]
    assert isinstance(width, int)
    return model.target_size * width


def _widths(site: nn.Module) -> int:
    """Keys and values; without a projection of its own, a value is what the keys are computed from."""
    keys, values = site.of_keys, site.of_values
    assert isinstance(keys, nn.Linear)
    return keys.out_features + (values.out_features if isinstance(values, nn.Linear) else keys.in_features)
