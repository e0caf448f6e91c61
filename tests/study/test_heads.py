"""What heads read, and models without some of them."""

import pytest
import torch

from saccade.models.vaswani2017 import Config, Vaswani2017
from saccade.study.heads import Head, choose_kind, hit_shares, list_heads, order_of_removal, wanted_slots, without

SOURCE, TARGET = torch.tensor([[5, 6, 7]]), torch.tensor([[2, 5, 6, 7]])


@pytest.fixture
def model() -> Vaswani2017:
    torch.manual_seed(1)
    return Vaswani2017(Config(width=8, inner=8, heads=2, encoder_layers=1, decoder_layers=2, dropout=0.0), 9, 9).eval()


def test_a_transformer_has_heads_at_three_sites(model: Vaswani2017) -> None:
    heads = list_heads(model)
    assert len(heads) == 2 + 4 + 4 and heads[0] == Head("encoder", 0, 0) and heads[-1] == Head("cross", 1, 1)
    with model.trace() as trace, torch.no_grad():
        model(SOURCE, SOURCE.ne(0), TARGET)
    assert {head.attention for head in heads} == set(trace)


def test_a_removed_head_does_not_matter_and_comes_back(model: Vaswani2017) -> None:
    def logits() -> torch.Tensor:
        with torch.no_grad():
            return model(SOURCE, SOURCE.ne(0), TARGET)

    whole, removed = logits(), Head("cross", 1, 1)
    values = model.get_submodule(removed.attention).of_values
    with without(model, [removed]):
        reduced = logits()
        kept = values.weight.detach().clone()
        with torch.no_grad():
            values.weight[4:] *= 3  # the values of the second of two heads
        torch.testing.assert_close(logits(), reduced)
        with torch.no_grad():
            values.weight.copy_(kept)
            values.weight[:4] *= 3  # those of the first
        assert not torch.allclose(logits(), reduced)
        with torch.no_grad():
            values.weight.copy_(kept)
    assert not torch.allclose(reduced, whole)
    torch.testing.assert_close(logits(), whole, rtol=0, atol=0)


def test_all_heads_of_an_attention_can_be_removed_together(model: Vaswani2017) -> None:
    heads = [head for head in list_heads(model) if head.site == "encoder"]
    with without(model, heads):
        assert not model.get_submodule(heads[0].attention).of_output.weight.any()
    assert model.get_submodule(heads[0].attention).of_output.weight.all()


def test_hits_are_the_largest_weights_on_wanted_slots() -> None:
    previous = torch.tensor([[1.0, 0, 0], [0.6, 0.4, 0], [0.1, 0.8, 0.1]])
    last = torch.tensor([[0.0, 0, 1], [0.3, 0.3, 0.4], [0, 0, 1]])
    weights = [torch.stack([previous, last])]  # (H, T, S)
    assert hit_shares(weights, [wanted_slots("encoder", "previous", 3, 3)]) == [1.0, 0.0]  # nothing is before the first
    assert hit_shares(weights, [wanted_slots("cross", "end", 3, 3)]) == [0.0, 1.0]
    assert hit_shares(weights * 2, [wanted_slots("cross", kind, 3, 3) for kind in ("end", "start")]) == pytest.approx(
        [1 / 3, 1 / 2]
    )


def test_a_symbol_that_reads_itself_does_not_count() -> None:
    assert wanted_slots("encoder", "end", 3, 3).nonzero().tolist() == [[0, 2], [1, 2]]
    assert wanted_slots("decoder", "start", 3, 3).nonzero().tolist() == [[1, 0], [2, 0]]
    assert wanted_slots("cross", "end", 2, 2).nonzero().tolist() == [[0, 1], [1, 1]]


def test_the_source_of_a_word_is_read_when_it_is_written_or_afterwards() -> None:
    links = [(0, 1), (2, 1)]  # both words 0 and 2 of the source with word 1 of the target
    assert wanted_slots("cross", "to write", 3, 4, links).nonzero().tolist() == [[1, 0], [1, 2]]
    assert wanted_slots("cross", "written", 3, 4, links).nonzero().tolist() == [[2, 0], [2, 2]]


def test_the_head_that_matters_least_is_removed_first(model: Vaswani2017) -> None:
    heads = [head for head in list_heads(model) if head.site == "cross"]
    importance = {
        Head("cross", 0, 0): 3.0,
        Head("cross", 0, 1): 1.0,
        Head("cross", 1, 0): 4.0,
        Head("cross", 1, 1): 2.0,
    }

    def loss() -> float:
        removed = (
            not model.get_submodule(head.attention).of_output.weight[:, 4 * head.number : 4 * head.number + 4].any()
            for head in heads
        )
        return sum(importance[head] for head, is_removed in zip(heads, removed) if is_removed)

    assert [importance[head] for head in order_of_removal(model, heads, loss)] == [1.0, 2.0, 3.0, 4.0]


def test_a_kind_needs_its_least_share() -> None:
    least = {"previous": 0.9, "aligned": 0.8}
    assert choose_kind({"previous": 0.89, "aligned": 0.5}, least) is None
    assert choose_kind({"previous": 0.91, "aligned": 0.95}, least) == "aligned"
