"""The table of models by name."""

from collections.abc import Mapping
from typing import Any

from saccade.attention.table import AttentionError
from saccade.config import to_dict
from saccade.errors import UserError
from saccade.models.aligned_rnn import AlignedRNN
from saccade.models.bahdanau2014 import Bahdanau2014
from saccade.models.bengio2003 import Bengio2003
from saccade.models.cheng2016 import Cheng2016
from saccade.models.cho2014 import Cho2014
from saccade.models.contract import Seq2Seq
from saccade.models.elman1990 import Elman1990
from saccade.models.gehring2017 import Gehring2017
from saccade.models.kalchbrenner2013 import Kalchbrenner2013
from saccade.models.language_model import LanguageModel
from saccade.models.luong2015 import Luong2015
from saccade.models.radford2018 import Radford2018
from saccade.models.russin2019 import Russin2019
from saccade.models.sutskever2014 import Sutskever2014
from saccade.models.vaswani2017 import Vaswani2017
from saccade.models.wu2019 import Wu2019
from saccade.names import Registry, resolve
from saccade.products import accelerate_linear_layers

MODELS: Mapping[str, type[Seq2Seq[Any, Any]]] = Registry[type[Seq2Seq[Any, Any]]]("model") | {
    "aligned-rnn": AlignedRNN,
    "kalchbrenner2013": Kalchbrenner2013,
    "cho2014": Cho2014,
    "sutskever2014": Sutskever2014,
    "bahdanau2014": Bahdanau2014,
    "luong2015": Luong2015,
    "gehring2017": Gehring2017,
    "vaswani2017": Vaswani2017,
    "russin2019": Russin2019,
    "wu2019": Wu2019,
}
LANGUAGE_MODELS: Mapping[str, type[LanguageModel[Any]]] = Registry[type[LanguageModel[Any]]]("model") | {
    "elman1990": Elman1990,
    "bengio2003": Bengio2003,
    "cheng2016": Cheng2016,
    "radford2018": Radford2018,
}
ALL_MODELS: Mapping[str, type[Seq2Seq[Any, Any]]] = (
    Registry[type[Seq2Seq[Any, Any]]]("model") | MODELS | LANGUAGE_MODELS
)


def find_model(name: str) -> type[Seq2Seq[Any, Any]]:
    """Find a model class by its name, or outside the package by `my_module:Class`."""
    model_class = resolve(name, ALL_MODELS, "model")
    if not (isinstance(model_class, type) and issubclass(model_class, Seq2Seq)):
        raise UserError(f"model {name!r} is not a class of models; expected a subclass of saccade.models.Seq2Seq")
    if missing := sorted(model_class.__abstractmethods__):
        raise UserError(
            f"model {name!r} does not define {' and '.join(missing)}: a Seq2Seq must define start(source, readable), "
            "step(token, t, fixed, moving) and forward(source, readable, target)"
        )
    return model_class


def build_model(name: str, config: Any, source_size: int, target_size: int) -> Seq2Seq[Any, Any]:
    """Construct a model; sizes and parts that do not fit together are reported as the user's mistake."""
    model_class = find_model(name)
    try:
        model = model_class(config, source_size, target_size)
    except AttentionError as error:
        keys = " and ".join(f"model.{key}" for key, value in to_dict(config).items() if value == error.name)
        raise UserError(
            f"{keys or name}: {error}; set other sizes, or an attention that fits (`saccade attentions` lists them)"
        ) from error
    except ValueError as error:
        raise UserError(f"model {name}: its settings do not fit together: {error}") from error
    accelerate_linear_layers(model)
    return model
