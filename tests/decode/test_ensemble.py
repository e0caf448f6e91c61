"""An ensemble keeps the contract, averages probabilities, and needs equal vocabularies."""

import math
from itertools import combinations
from typing import Any

import pytest
import torch
from search_models import TINY, batch, log_probs, random_chain, single, tiny

from saccade.decode import Ensemble, Search, Translator, combine, run_search
from saccade.decode.ensemble import EnsembleConfig
from saccade.errors import UserError
from saccade.models import MODELS
from saccade.models.contract import take_rows
from saccade.text import BOS, EOS, Vocabularies

SOURCES = [(4, 5, 6, EOS), (5, EOS), (6, 6, 4, 4, 5, EOS)]


def members(*names: str) -> list[Any]:
    return [tiny(name, seed) for seed, name in enumerate(names, 1)]


@pytest.mark.parametrize("pair", list(zip(MODELS, [*MODELS][1:] + [*MODELS][:1])), ids="+".join)
@pytest.mark.parametrize("average", ["probabilities", "log-probabilities"])
def test_ensemble_averages_any_two_models(pair: tuple[str, str], average: Any) -> None:
    """A recurrent network and a Transformer, a convolution and a fixed vector …: the mean of their probabilities."""
    both = members(*pair)
    ensemble = Ensemble(both, EnsembleConfig(average=average, weights=(3.0, 1.0)))
    for row, results in zip(SOURCES, run_search(ensemble, *batch(*SOURCES), Search(beam=2, n_best=2, longest=6))):
        for hypothesis in results:
            written = (*hypothesis.tokens, EOS) if hypothesis.ended else hypothesis.tokens
            with torch.no_grad():
                steps = [
                    torch.log_softmax(model(*single(*row), torch.tensor([[BOS, *written[:-1]]]))[0], -1)
                    for model in both
                ]
            mean = (
                (0.75 * steps[0].exp() + 0.25 * steps[1].exp()).log()
                if average == "probabilities"
                else torch.log_softmax(0.75 * steps[0] + 0.25 * steps[1], -1)
            )
            expected = mean.gather(1, torch.tensor(written)[:, None]).flatten().tolist()
            assert hypothesis.token_log_probs == pytest.approx(expected, abs=1e-4)


def test_ensemble_keeps_the_contract() -> None:
    """Steps agree with forcing, also when hypotheses are taken out, doubled and put in another order."""
    ensemble = Ensemble(members("bahdanau2014", "vaswani2017", "cho2014"))
    source, readable = batch(*SOURCES)
    target = torch.tensor([[BOS, 4, 5], [BOS, 6, 6], [BOS, 5, 4]])
    with torch.no_grad():
        expected = ensemble(source, readable, target)
        fixed, moving = ensemble.start(source, readable)
        for t in range(3):
            logits, moving = ensemble.step(target[:, t], torch.full((3,), t), fixed, moving)
            torch.testing.assert_close(logits, expected[:, t])
            order = torch.tensor([2, 0, 1])
            fixed, moving = take_rows((fixed, moving), order)
            target, expected = target[order], expected[order]
        with ensemble.trace() as trace:
            ensemble(source, readable, target)
    assert ensemble.cross == ["members.0.decoder.attention"] and ensemble.alignment_shift == 0
    assert trace[ensemble.cross[0]].shape[0] == 3
    assert Ensemble(members("cho2014", "vaswani2017")).alignment_shift == 1
    assert Ensemble(members("cho2014", "cho2014")).cross == []


@pytest.mark.parametrize("name", TINY)
def test_ensemble_of_equal_models_equals_the_model(name: str) -> None:
    model, search = tiny(name, 4), Search(beam=3, n_best=3, longest=5)
    alone = run_search(model, *batch(*SOURCES), search)
    for config in (EnsembleConfig(), EnsembleConfig(average="log-probabilities"), EnsembleConfig(weights=(1.0, 0.0))):
        together = run_search(Ensemble([model, model], config), *batch(*SOURCES), search)
        assert [[h.tokens for h in results] for results in together] == [
            [h.tokens for h in results] for results in alone
        ]


@pytest.mark.parametrize("average", ["probabilities", "log-probabilities"])
def test_a_member_without_weight_has_no_veto(average: Any) -> None:
    never, other = random_chain(1), tiny("bahdanau2014")
    never.logits[..., [4, EOS]] = -math.inf
    ensemble = Ensemble([never, other], EnsembleConfig(average=average, weights=(0.0, 2.0)))
    source, written = single(4, 5, EOS), (4, 5, EOS)
    assert log_probs(ensemble, *source, written) == pytest.approx(log_probs(other, *source, written), abs=1e-6)


def test_translators_are_combined(learnt: Translator, untrained: Any, vocabularies: Vocabularies) -> None:
    other = Translator(untrained("bahdanau2014"), vocabularies, "cpu")
    both = combine({"learnt": learnt, "other": other}, weights=(0.98, 0.02))
    (result,) = both.translate(["the black cat sleeps"], weights=True)
    assert result.text == "le chat noir dort" and result.weights is not None
    assert result.log_prob < learnt.translate(["the black cat sleeps"])[0].log_prob


def test_invalid_ensembles_are_refused(learnt: Translator, untrained: Any, vocabularies: Vocabularies) -> None:
    turned = Translator(untrained("cho2014"), vocabularies.towards(right_to_left=True), "cpu")
    with pytest.raises(UserError, match="b: its vocabulary differs from that of a"):
        combine({"a": learnt, "b": turned})
    for sizes in combinations((6, 7), 2):
        with pytest.raises(UserError, match="share their vocabularies"):
            Ensemble([tiny("cho2014", vocabulary=size) for size in sizes])
    two = members("cho2014", "cho2014")
    for given, message in (
        ({"average": "median"}, "average"),
        ({"weights": (1.0,)}, "expected 2"),
        ({"weights": (1.0, -1.0)}, "none negative"),
        ({"weights": (0.0, 0.0)}, "weights"),
        ({"weights": (float("nan"), 1.0)}, "weights"),
    ):
        with pytest.raises(UserError, match=message):
            Ensemble(two, EnsembleConfig(**given))  # type: ignore[arg-type]
    with pytest.raises(UserError, match="at least one"):
        Ensemble([])
