from torch import nn

from saccade.layers.dropout import Places, make_dropout
from saccade.models.cho2014 import Config


def test_nothing_dropped_is_no_dropout() -> None:
    assert isinstance(make_dropout(0.0), nn.Identity)
    assert make_dropout(0.3).p == 0.3


def test_a_place_of_its_own_goes_before_the_share_for_all() -> None:
    assert Places.of(Config(dropout=0.3)) == (0.3, 0.3, 0.3)
    assert Places.of(Config(dropout=0.3, embedding_dropout=0.0, output_dropout=0.5)) == (0.0, 0.3, 0.5)
