"""Load any language model by its folder."""

from pathlib import Path

from saccade.decode.language_models import load_language_model
from saccade.lm.network_model import NetworkModel
from saccade.ngrams import ngram_model
from saccade.ngrams.ngram_model import NgramModel

load_ngrams = ngram_model.load


def load(folder: str | Path, *, device: str = "auto", trust_code: bool = False) -> NgramModel | NetworkModel:
    """The model of a folder that `saccade lm train` wrote."""
    return load_language_model(Path(folder), NetworkModel, device=device, trust_code=trust_code)


def load_network(folder: str | Path, *, device: str = "auto", trust_code: bool = False) -> NetworkModel:
    """The network of a folder that `saccade lm train --model …` wrote."""
    return NetworkModel.of_folder(Path(folder), device=device, trust_code=trust_code)
