"""What distance adds to a score."""

import math

import pytest
import torch
from transcriptions_transformer import t5_bucket

from saccade.attention import ALiBi, Buckets, RelativeKeys

OFFSETS = list(range(-300, 301))


@pytest.mark.parametrize(
    ("buckets", "farthest", "both_sides"), [(32, 128, True), (32, 128, False), (8, 20, True), (16, 100, False)]
)
def test_t5_buckets(buckets: int, farthest: int, both_sides: bool) -> None:
    bias = Buckets(1, buckets=buckets, farthest=farthest, both_sides=both_sides)
    expected = [t5_bucket(offset, buckets, farthest, both_sides=both_sides) for offset in OFFSETS]
    assert bias.bucket(torch.tensor(OFFSETS)).tolist() == expected


def test_t5_buckets_by_hand() -> None:
    """16 a side: distances 0–7 alone, then 8·√2ⁿ: 8, 11.3, 16, 22.6, 32, 45.3, 64, 90.5, and all from there."""
    behind = [0, 1, 7, 8, 11, 12, 15, 16, 22, 23, 31, 32, 45, 46, 63, 64, 90, 91, 128, 1000]
    expected = [0, 1, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13, 14, 14, 15, 15, 15]
    bias = Buckets(1)
    assert bias.bucket(-torch.tensor(behind)).tolist() == expected
    assert bias.bucket(torch.tensor(behind[1:])).tolist() == [16 + bucket for bucket in expected[1:]]


def test_t5_bias_is_one_number_per_head_and_bucket() -> None:
    bias = Buckets(2)
    added = bias(torch.zeros(1, 2, 3, 4), torch.arange(3)[None], torch.arange(20)[None])
    for head in range(2):
        for i in range(3):
            for j in range(20):
                assert added[0, head, i, j] == bias.table[head, t5_bucket(j - i)]


@pytest.mark.parametrize(("heads", "first"), [(8, 1 / 2), (16, 1 / math.sqrt(2)), (1, 1 / 256)])
def test_alibi_slopes(heads: int, first: float) -> None:
    """8 heads: 1/2, 1/4, …, 1/256; the first slope is also the ratio, and the last is always 2⁻⁸."""
    added = ALiBi(heads)(torch.zeros(1, heads, 1, 2), torch.tensor([[5]]), torch.tensor([[5, 4, 2]]))
    for head in range(heads):
        m = first ** (head + 1)
        assert added[0, head, 0].tolist() == pytest.approx([0, -m, -3 * m])


def test_shaw_by_hand() -> None:
    """One head of width 4, so √d = 2; distances are clipped at 1."""
    bias = RelativeKeys(1, 4, clip=1)
    with torch.no_grad():
        bias.vectors.copy_(torch.tensor([[2.0, 0, 0, 0], [0, 4.0, 0, 0], [0, 0, 6.0, 0]]))  # before, here, after
    query = torch.tensor([1.0, 10.0, 100.0, 1000.0])[None, None, None]
    added = bias(query, torch.tensor([[2]]), torch.arange(5)[None])
    assert added.flatten().tolist() == [1, 1, 20, 300, 300]
