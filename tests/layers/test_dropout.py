from torch import nn

from saccade.layers.dropout import make_dropout
from saccade.models.cho2014 import Config


def test_zero_dropout_is_identity() -> None:
    assert isinstance(make_dropout(0.0), nn.Identity)
    assert make_dropout(0.3).p == 0.3


def test_dropout_of_one_place_overrides_the_general_one() -> None:
    def places(config: Config) -> tuple[float, float, float]:
        return config.at_embedding, config.at_layer, config.at_output

    assert places(Config(dropout=0.3)) == (0.3, 0.3, 0.3)
    assert places(Config(dropout=0.3, embedding_dropout=0.0, output_dropout=0.5)) == (0.0, 0.3, 0.5)
