"""Load any language model by its folder."""

from pathlib import Path

from saccade import model_folder
from saccade.lm.network_model import NetworkModel
from saccade.ngrams import ngram_model
from saccade.ngrams.ngram_model import NgramModel

load_ngrams = ngram_model.load


def load(folder: str | Path, *, device: str = "auto", trust_code: bool = False) -> NgramModel | NetworkModel:
    """The model of a folder that `saccade lm train` wrote."""
    if model_folder.load_config(Path(folder)).model == ngram_model.MODEL:
        return load_ngrams(folder)
    return load_network(folder, device=device, trust_code=trust_code)


def load_network(folder: str | Path, *, device: str = "auto", trust_code: bool = False) -> NetworkModel:
    """The network of a folder that `saccade lm train --model …` wrote."""
    return NetworkModel.of_folder(Path(folder), device=device, trust_code=trust_code)
