"""The coverage penalty uses the attention of the model while it writes."""

import pytest
import torch
from search_models import TINY, batch, single, tiny

from saccade.decode import Search, run_search
from saccade.errors import UserError
from saccade.text import BOS, EOS

SOURCES = [(4, 5, 6, EOS), (6, EOS), (5, 5, 4, EOS)]
LOOKING = [name for name in TINY if tiny(name).cross]


@pytest.mark.parametrize("name", LOOKING)
def test_coverage_equals_the_attention_of_a_forced_pass(name: str) -> None:
    model, search = tiny(name, 3), Search(beam=3, coverage_penalty=0.7, length_norm="none", n_best=3)
    for row, hypotheses in zip(SOURCES, run_search(model, *batch(*SOURCES), search)):
        for hypothesis in hypotheses:
            written = (*hypothesis.tokens, EOS) if hypothesis.ended else hypothesis.tokens
            with torch.no_grad(), model.trace() as trace:
                model(*single(*row), torch.tensor([[BOS, *written[:-1]]]))
            looks = torch.stack([trace[site][0].mean(0) for site in model.cross]).mean(0).sum(0)  # (S,)
            expected = looks[:-1].clamp(1e-9, 1).log().sum().item()  # the end is nothing to cover
            assert hypothesis.score - hypothesis.log_prob == pytest.approx(0.7 * expected, abs=1e-4)


def test_coverage_penalty_needs_attention() -> None:
    with pytest.raises(UserError, match="one fixed vector"):
        run_search(tiny("cho2014"), *single(4, EOS), Search(coverage_penalty=0.1))
