"""Training that begins with another model's weights, and may leave some of them as they are."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from saccade import model_folder
from saccade.decode import load_vocabularies
from saccade.errors import UserError
from saccade.models import Seq2Seq
from saccade.text import Vocabularies


def take_weights(model: Seq2Seq[Any, Any], folder: Path, vocabularies: Vocabularies) -> None:
    """Those of the model in `folder`, which must be one of the same sizes and of the same vocabulary."""
    tensors, described = model_folder.load_model(folder)
    if load_vocabularies(folder).hash != vocabularies.hash:
        raise UserError(
            f"train.init_from: the vocabulary of {folder} is not the run's, so that its weights are of other pieces; "
            "set data.vocab_from to it, too"
        )
    expected, found = _kinds(model.state_dict()), _kinds(tensors)
    differing = [name for name in sorted(expected.keys() | found.keys()) if expected.get(name) != found.get(name)]
    if differing:
        name = differing[0]
        others = f", and {len(differing) - 1} more" if len(differing) > 1 else ""
        raise UserError(
            f"train.init_from: the {described.model} of {folder} does not fit the model of this recipe: {name} is "
            f"{found.get(name, 'not there')}, expected {expected.get(name, 'no such tensor')}{others}; "
            f"copy [model] from {folder / 'recipe.toml'}"
        )
    model.load_state_dict(tensors)


def _kinds(tensors: Mapping[str, Tensor]) -> dict[str, str]:
    return {name: f"{tuple(tensor.shape)} of {tensor.dtype}" for name, tensor in tensors.items()}


def freeze(model: nn.Module, patterns: tuple[str, ...]) -> int:
    """Parameters whose names begin with, or match, one of the patterns no longer learn: how many numbers that are.

    A tensor of several names (tied embeddings) is frozen by any of them.
    """
    named = dict(model.named_parameters(remove_duplicate=False))
    for pattern in patterns:
        chosen = [name for name in named if name.startswith(f"{pattern}.") or fnmatchcase(name, pattern)]
        if not chosen:
            raise UserError(
                f"train.freeze: no parameter's name begins with or matches {pattern!r}; there are {_listed(named)}"
            )
        for name in chosen:
            named[name].requires_grad_(False)
    if not any(parameter.requires_grad for parameter in named.values()):
        raise UserError("train.freeze: nothing is left to learn; name fewer parts")
    return sum(parameter.numel() for parameter in model.parameters() if not parameter.requires_grad)


def _listed(named: dict[str, nn.Parameter]) -> str:
    """The parts, to a depth of two."""
    return ", ".join(dict.fromkeys(".".join(name.split(".")[:2]) for name in named))
