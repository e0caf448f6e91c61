"""From a Transformer of this package to the layers of CTranslate2, which computes the same numbers on a CPU faster."""

from typing import Any, cast

import torch
from torch import Tensor, nn

from saccade.attention import Learned
from saccade.attention.normalisers import Softmax
from saccade.attention.positions import Rotary, Sinusoidal
from saccade.attention.scores import ScaledDot
from saccade.attention.windows import Causal, Everywhere
from saccade.layers.transformer_block import FeedForward, Site
from saccade.models.contract import Seq2Seq
from saccade.models.vaswani2017 import DecoderLayer, EncoderLayer, Vaswani2017
from saccade.text import BOS, EOS, UNK, Vocabularies

# CTranslate2 reads positions from a table. Longer texts are left to PyTorch, which computes sinusoids as it needs them.
POSITIONS = 2048


def why_not_exported(model: Seq2Seq[Any, Any]) -> str | None:
    """The reason why CTranslate2 cannot compute this model, or None if it can."""
    if type(model) is not Vaswani2017:
        return f"{type(model).__name__} is not a Transformer (vaswani2017)"
    config = model.config
    if not config.residual:
        return "residual = false: CTranslate2 always adds the input of a layer to its output"
    if config.norm_kind == "none":
        return "norm_kind = 'none': CTranslate2 always normalises"
    if config.feed_forward == "convolution":
        return "feed_forward = 'convolution': CTranslate2 has only linear feed-forward layers"
    if config.feed_forward == "none":
        return "feed_forward = 'none': CTranslate2 always computes a feed-forward network"
    if any(parameter.dtype != torch.float32 for parameter in model.parameters()):
        return "its weights are not float32"
    for name, module in model.named_modules():
        if isinstance(module, Site) and (reason := _why_not_standard(module, model)) is not None:
            return f"{name}: {reason}"
    if len({_is_rotary(layer.attention) for layer in (*model.encoder, *model.decoder)}) > 1:
        return "only some layers have rotary positions; CTranslate2 needs them in all layers or in none"
    return None


def positions_of(model: Vaswani2017) -> int | None:
    """The number of positions in the converted tables; None: as many as needed."""
    if isinstance(model.positions, Learned):
        return model.positions.table.num_embeddings
    return None if _is_rotary(_first_site(model)) else POSITIONS


def convert(model: Vaswani2017, vocabularies: Vocabularies) -> Any:
    """The `ctranslate2.specs.TransformerSpec` of a model for which `why_not_exported` is None."""
    from ctranslate2 import specs

    config, rotary = model.config, _first_site(model).attention.positions
    gated, rms = config.feed_forward == "gated", config.norm_kind == "rms"
    activations = {"gated": specs.Activation.SWISH, "gelu": specs.Activation.GELU}
    shared: dict[str, Any] = {
        "num_heads": _first_site(model).attention.heads,
        "pre_norm": config.norm == "pre",
        "activation": activations.get(config.feed_forward, specs.Activation.RELU),
        "ffn_glu": gated,
        "rms_norm": rms,
        "rotary_dim": None if rotary is None else rotary.width,
        "rotary_base": 10000.0 if rotary is None else rotary.base,
    }
    spec = specs.TransformerSpec(
        specs.TransformerEncoderSpec(len(model.encoder), **shared),
        specs.TransformerDecoderSpec(len(model.decoder), **shared),
    )
    embeddings = model.embeddings
    _set_half(spec.encoder, model.encoder, model.encoder_norm, config.norm == "pre")
    _set_half(spec.decoder, model.decoder, model.decoder_norm, config.norm == "pre")
    spec.encoder.embeddings[0].weight = _values(embeddings.source.weight)
    spec.decoder.embeddings.weight = _values(embeddings.target.weight)
    _set_linear(spec.decoder.projection, embeddings.output)
    if rotary is None:
        spec.encoder.position_encodings.encodings = spec.decoder.position_encodings.encodings = _position_table(model)
    _set_vocabularies(spec, vocabularies)
    spec.config.layer_norm_epsilon = torch.finfo(torch.float32).eps if rms else nn.LayerNorm(1).eps
    return spec


def _why_not_standard(site: Site, model: Vaswani2017) -> str | None:
    """Why an attention is not that of Vaswani (2017), with or without rotary positions."""
    attention = site.attention
    if type(attention.score) is not ScaledDot or not isinstance(attention.of_queries, nn.Linear):
        return f"CTranslate2 has no attention with the score {attention.score.formula}"
    if type(attention.normaliser) is not Softmax:
        return f"CTranslate2 has no attention normalised by {attention.normaliser.name}"
    if attention.bias is not None:
        return f"CTranslate2 has no such attention with the bias {attention.bias.name}"
    decodes = any(site is layer.attention for layer in model.decoder)
    if type(attention.window) is not (Causal if decodes else Everywhere):
        return f"CTranslate2 has no such attention with the window {attention.window.name}"
    if (attention.heads, attention.memory_heads) != (_first_site(model).attention.heads,) * 2:
        return "CTranslate2 needs the same number of heads everywhere"
    if not isinstance(site.output, nn.Identity):
        return "its context has another width than the model"
    if _is_rotary(site) and any(site is layer.cross for layer in model.decoder):
        return "CTranslate2 has rotary positions in self-attention only"
    if _is_rotary(site) and model.positions is not None:
        return "CTranslate2 has either rotary positions or added ones"
    return None


def _first_site(model: Vaswani2017) -> Site:
    """Of the self-attentions: the reference for those that must all be alike."""
    return cast(DecoderLayer, model.decoder[0]).attention


def _is_rotary(site: Site) -> bool:
    return isinstance(site.attention.positions, Rotary)


def _set_half(spec: Any, layers: Any, last: nn.Module, ends_on_norm: bool) -> None:
    for layer_spec, layer in zip(spec.layer, layers, strict=True):
        _set_layer(layer_spec, layer)
    if ends_on_norm:
        _set_norm(spec.layer_norm, last)


def _set_layer(spec: Any, layer: EncoderLayer | DecoderLayer) -> None:
    attention = layer.attention.attention
    _set_linear(spec.self_attention.linear[0], attention.of_queries, attention.of_keys, attention.of_values)
    _set_linear(spec.self_attention.linear[1], attention.of_output)
    parts = [spec.self_attention]
    if isinstance(layer, DecoderLayer):
        cross = layer.cross.attention
        _set_linear(spec.attention.linear[0], cross.of_queries)
        _set_linear(spec.attention.linear[1], cross.of_keys, cross.of_values)
        _set_linear(spec.attention.linear[2], cross.of_output)
        parts.append(spec.attention)
    assert layer.feed_forward is not None
    _set_feed_forward(spec.ffn, layer.feed_forward)
    for part, around in zip([*parts, spec.ffn], layer.around, strict=True):
        _set_norm(part.layer_norm, around.norm)


def _set_feed_forward(spec: Any, module: FeedForward) -> None:
    first: Any = module.first
    if module.kind == "gated":  # the first half of W₁ is the gate
        for linear, half in ((spec.linear_0, 0), (spec.linear_0_noact, 1)):
            linear.weight = _values(first.weight.chunk(2)[half])
            linear.bias = _values(first.bias.chunk(2)[half])
    else:
        _set_linear(spec.linear_0, first)
    _set_linear(spec.linear_1, module.second)


def _set_norm(spec: Any, module: Any) -> None:
    spec.gamma = _values(module.weight)
    if isinstance(module, nn.LayerNorm):
        spec.beta = _values(module.bias)


def _set_linear(spec: Any, *modules: Any) -> None:
    """One layer, or several that read the same input, one below the other."""
    spec.weight = _values(torch.cat([module.weight for module in modules]))
    if modules[0].bias is not None:
        spec.bias = _values(torch.cat([module.bias for module in modules]))


def _position_table(model: Vaswani2017) -> Any:
    """(positions, width): CTranslate2's own sinusoids are those of another order of dimensions."""
    if isinstance(model.positions, Learned):
        return _values(model.positions.table.weight)
    table = torch.zeros(1, POSITIONS, model.config.width)
    if isinstance(model.positions, Sinusoidal):
        table = model.positions(table, torch.arange(POSITIONS)[None])
    return _values(table[0])


def _set_vocabularies(spec: Any, vocabularies: Vocabularies) -> None:
    target = vocabularies.target.pieces
    spec.register_source_vocabulary(vocabularies.source.pieces)
    spec.register_target_vocabulary(target)
    spec.config.unk_token = target[UNK]
    spec.config.bos_token = spec.config.decoder_start_token = target[BOS]
    spec.config.eos_token = target[EOS]
    spec.config.add_source_eos = True


def _values(tensor: Tensor) -> Any:
    return tensor.detach().cpu().contiguous().numpy()
