"""R-Drop, SimCut and word dropout: what they read, and that they are trained by."""

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from saccade.data.batching import Batch
from saccade.models import build_model
from saccade.ranges import OptionError
from saccade.text import BOS, EOS, PAD, UNK
from saccade.train.consistency import Consistency, hide_tokens
from saccade.train.losses import Objective, batch_loss
from saccade.train.training_options import Training

BATCH = Batch.of([[5, 6, 7, 8], [9, 10]], [[11, 12], [13, 14, 15]], range(2))


def model(dropout: float = 0.0) -> Any:
    torch.manual_seed(1)
    from saccade.models.vaswani2017 import Config

    settings = Config(width=16, inner=16, heads=2, encoder_layers=1, decoder_layers=1, dropout=dropout, tie="all")
    return build_model("vaswani2017", settings, 20, 20).train()


def test_hidden_tokens_are_words_only() -> None:
    tokens = torch.tensor([[BOS, 5, 6, EOS, PAD]])
    assert hide_tokens(tokens, 0.0).equal(tokens)
    torch.manual_seed(1)
    hidden = torch.stack([hide_tokens(tokens, 0.5) for _ in range(200)])
    assert (hidden[..., [0, 3, 4]] == tokens[..., [0, 3, 4]]).all()
    share = (hidden[..., 1:3] == UNK).float().mean()
    assert 0.4 < float(share) < 0.6


@pytest.mark.parametrize("terms", [Consistency(r_drop=5.0), Consistency(simcut=3.0, cut=0.0)])
def test_without_dropout_and_hidden_tokens_both_predictions_agree(terms: Consistency) -> None:
    net = model()
    expected, plain = batch_loss(net, BATCH, Objective(smoothing=0.1))
    loss, also_plain = batch_loss(net, BATCH, Objective(smoothing=0.1, consistency=terms))
    torch.testing.assert_close(loss, expected)
    torch.testing.assert_close(also_plain, plain)


def test_simcut_draws_the_predictions_from_hidden_and_whole_texts_together() -> None:
    """The loss is the cross-entropy of the whole texts and α times the divergence from those with hidden tokens."""
    net, read = model(), []
    forward = net.forward

    def record(source: Tensor, readable: Tensor, target: Tensor) -> Tensor:
        read.append((source, target))
        logits: Tensor = forward(source, readable, target)
        return logits

    net.forward = record
    loss, plain = batch_loss(net, BATCH, Objective(consistency=Consistency(simcut=2.0, cut=0.9)))
    ((source, target),) = read
    assert source[:2].equal(BATCH.source) and target[:2].equal(BATCH.target_in)
    assert (source[2:] == UNK).any() and (target[2:] == UNK).any()
    p, q = torch.log_softmax(forward(source, BATCH.source_readable.repeat(2, 1), target), -1).chunk(2)
    divergence = ((p.exp() * (p - q)).sum(-1) * BATCH.target_readable).sum()
    assert divergence > 0
    torch.testing.assert_close(loss, plain + 2.0 * divergence)


def test_r_drop_costs_more_where_dropout_makes_predictions_differ() -> None:
    net = model(dropout=0.5)
    torch.manual_seed(2)
    without, _ = batch_loss(net, BATCH, Objective(consistency=Consistency(r_drop=1e-9)))
    torch.manual_seed(2)
    loss, _ = batch_loss(net, BATCH, Objective(consistency=Consistency(r_drop=5.0)))
    assert loss > without


def test_word_dropout_hides_tokens_of_both_sides() -> None:
    net = model()
    torch.manual_seed(3)
    loss, _ = batch_loss(net, BATCH, Objective(word_dropout=0.9))
    torch.manual_seed(3)
    source, target = (hide_tokens(tokens, 0.9) for tokens in (BATCH.source, BATCH.target_in))
    expected, _ = batch_loss(net, replace(BATCH, source=source, target_in=target), Objective())
    torch.testing.assert_close(loss, expected)


@pytest.mark.parametrize("settings", [{"r_drop": 5.0, "simcut": 3.0}, {"simcut": 3.0, "guided": 0.5}])
def test_settings_that_exclude_each_other_are_refused(settings: dict[str, float]) -> None:
    with pytest.raises(OptionError):
        Training(**settings)  # type: ignore[arg-type]
