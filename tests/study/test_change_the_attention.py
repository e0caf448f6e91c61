"""Which attentions the study compares, and that those it leaves out compute the same as another."""

import pytest
import torch

from saccade.attention import ATTENTIONS
from saccade.attention.table import build
from saccade.study.claims.change_the_attention import LEFT_OUT, SAME, ChangeTheAttention, sites_of


def test_every_attention_is_compared_or_left_out_for_a_reason() -> None:
    compared = [trial["attention"] for trial in ChangeTheAttention().trials(quick=False)]
    assert len(compared) == len(set(compared))
    assert {*compared, *SAME, *LEFT_OUT} == set(ATTENTIONS)
    assert set(SAME.values()) <= set(compared)


@pytest.mark.parametrize("name", SAME)
def test_an_attention_that_is_not_listed_computes_the_same_as_another(name: str) -> None:
    other, causal = SAME[name], sites_of(name) == ["decoder"]
    torch.manual_seed(1)
    attentions = [build(each, causal=causal, heads=2, query_dim=8, memory_dim=8, width=8) for each in (name, other)]
    attentions[1].load_state_dict(attentions[0].state_dict())
    x = torch.randn(2, 9, 8)
    contexts = [attention(x, attention.remember(x)).context for attention in attentions]
    torch.testing.assert_close(*contexts)


def test_an_attention_stands_where_it_can_read_what_it_must() -> None:
    assert sites_of("bahdanau2014") == ["encoder", "decoder", "cross"]
    assert sites_of("press2022") == ["decoder"]  # causal by itself
    assert sites_of("luong2015-local-p-dot") == ["encoder", "cross"]  # its window depends on the whole length
