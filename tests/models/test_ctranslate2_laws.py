"""Every model of the zoo is either computed alike by CTranslate2, or has a reason why it is not."""

from functools import cache

import pytest
from model_cases import CASES, Case, build

from saccade.data import TextPair
from saccade.decode import Search, Translator
from saccade.decode.engines.conversion import why_not_exported
from saccade.decode.engines.engine import CTranslate2Engine
from saccade.text import Policy, Vocabularies

TEXTS = ["a b c d", "b", "d c b a d c b a c"]
STANDARD = {"vaswani2017", "vaswani2017-causal", "su2021"}


@cache
def letters() -> Vocabularies:
    pairs = [TextPair("a b c d e", "e d c b a")] * 4
    return Vocabularies.train(pairs, Policy(kind="char", size=12, byte_fallback=False))


def translator(case: Case) -> Translator:
    vocabularies = letters()
    model = build(case, vocabulary=len(vocabularies.source)).float()
    return Translator(model, vocabularies, "cpu")


def may_be_exported(case: Case) -> bool:
    sites = {value for option, value in case.options.items() if "attention" in option}
    return case.model == "vaswani2017" and sites <= STANDARD


@pytest.mark.parametrize("case", [case for case in CASES if not may_be_exported(case)], ids=str)
def test_other_models_and_attentions_are_not_exported(case: Case) -> None:
    reason = why_not_exported(build(case).float())
    assert reason is not None and "\n" not in reason
    assert "CTranslate2" in reason or "not a Transformer" in reason or "width" in reason


REFUSED = {  # by what stands in the name of a case; the first decides
    "residual=False": "always adds",
    "norm_kind=none": "always normalises",
    "feed_forward=convolution": "only linear",
    "feed_forward=none": "always computes a feed-forward network",
    "positions=rotary": None,
    "cross_attention=su2021": "self-attention only",
    "attention=su2021": "either rotary positions or added ones",
    "encoder_attention=vaswani2017-causal": "window causal",
    "cross_attention=vaswani2017-causal": "window causal",
}


@pytest.mark.parametrize("case", [*filter(may_be_exported, CASES)], ids=str)
def test_transformers_are_computed_alike_or_refused(case: Case) -> None:
    expected = next((reason for part, reason in REFUSED.items() if part in str(case)), None)
    each = translator(case)
    reason = why_not_exported(each.model)
    if reason is not None:
        assert expected is not None and expected in reason
        return
    assert expected is None
    plain = each.translate(TEXTS, Search(longest=9))
    fast = each.translate(TEXTS, Search(longest=9), engine=CTranslate2Engine(each.model, each.vocabularies))
    assert [one.tokens for one in fast] == [one.tokens for one in plain]
    for one, other in zip(fast, plain):
        assert one.log_prob == pytest.approx(other.log_prob, abs=1e-3)
        assert list(one.token_log_probs) == pytest.approx(other.token_log_probs, abs=1e-3)


def test_rotary_positions_are_needed_in_all_layers_or_in_none() -> None:
    case = Case("vaswani2017", {"positions": "none", "encoder_attention": "su2021"})
    assert "only some layers" in str(why_not_exported(build(case).float()))
    case = Case("vaswani2017", {"positions": "none", "encoder_attention": "su2021", "decoder_attention": "su2021"})
    assert why_not_exported(build(case).float()) is None


def test_weights_must_be_float32() -> None:
    assert "float32" in str(why_not_exported(build(Case("vaswani2017")).double()))
