"""An attention does not change after its construction, and incomplete parts are refused."""

import pytest

from saccade.attention import ATTENTIONS, Causal, Normaliser, Rotary, Score
from saccade.attention.fused import _many_variants


def test_with_parts_leaves_the_original_unchanged() -> None:
    attention = ATTENTIONS["vaswani2017"](query_dim=16, memory_dim=16, width=16)
    names = set(attention.state_dict())
    other = attention.with_parts(window=Causal(), dropout=0.5, positions=Rotary(attention.head_width))
    assert (attention.window.name, attention.dropout, attention.positions) == ("everywhere", 0.0, None)
    assert (other.window.name, other.dropout) == ("causal", 0.5) and isinstance(other.positions, Rotary)
    assert other.of_keys.weight is attention.of_keys.weight and set(other.state_dict()) == names


@pytest.mark.parametrize("kind", [Score, Normaliser])
def test_incomplete_part_is_refused(kind: type[Score] | type[Normaliser]) -> None:
    with pytest.raises(TypeError, match="abstract"):
        type("Incomplete", (kind,), {})()


def test_recompile_limit_is_raised_only_inside_a_call() -> None:
    from torch._dynamo import config

    before = config.recompile_limit
    with _many_variants():
        assert config.recompile_limit == max(before, 64)
    assert config.recompile_limit == before
