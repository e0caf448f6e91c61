"""The readers of a classifier: several hops (lin2017), any named attention with one learned query, or no attention."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

from saccade.attention.attention import Attention
from saccade.attention.table import ATTENTIONS, AttentionError, build
from saccade.attention.windows import Block
from saccade.errors import UserError
from saccade.labels.lin2017 import Lin2017
from saccade.labels.sentence_reader import SentenceReader, SentenceReading
from saccade.labels.settings import LabelConfig
from saccade.names import Registry, nearest


class MeanReader(SentenceReader):
    """The mean of all annotations, without attention."""

    def __init__(self, config: LabelConfig) -> None:
        super().__init__()
        self.size = config.width

    def forward(self, annotations: Tensor, readable: Tensor) -> SentenceReading:
        total = torch.where(readable[..., None], annotations, 0.0).sum(1)
        return SentenceReading(total / readable.sum(1, keepdim=True).clamp_min(1))


class LastReader(SentenceReader):
    """The last annotation beside the first, without attention: where the directions of a recurrence have read all."""

    def __init__(self, config: LabelConfig) -> None:
        super().__init__()
        self.size = 2 * config.width

    def forward(self, annotations: Tensor, readable: Tensor) -> SentenceReading:
        annotations = torch.where(readable[..., None], annotations, 0.0)  # of a text without a word, zeros
        last = (readable.sum(1) - 1).clamp_min(0)
        at_last = annotations.gather(1, last[:, None, None].expand(-1, -1, annotations.shape[2])).squeeze(1)
        return SentenceReading(torch.cat([at_last, annotations[:, 0]], -1))


class QueryReader(SentenceReader):
    """An attention that a learned query asks. Its heads are shown as hops."""

    def __init__(self, config: LabelConfig, name: str) -> None:
        super().__init__()
        width = config.width
        self.attention = build(name, query_dim=width, memory_dim=width, width=width, heads=config.heads)
        if (reason := why_no_reader(self.attention)) is not None:
            raise AttentionError(name, f"{reason}; as a reader, choose lin2017 or another attention")
        self.query = nn.Parameter(torch.randn(width) / width**0.5)
        self.size = self.attention.context_dim

    def forward(self, annotations: Tensor, readable: Tensor) -> SentenceReading:
        memory = self.attention.remember(annotations, readable)
        reading = self.attention(self.query.expand(len(annotations), 1, -1), memory, weights=True)
        return SentenceReading(reading.context.squeeze(1), reading.weights.squeeze(2))


def why_no_reader(attention: Attention) -> str | None:
    """Why a learned query, which has no place in the text, cannot ask this attention; None if it can."""
    window = attention.window
    if window.causal:
        return "it is causal: a query before the text may read none of it"
    if window.band is not None or isinstance(window, Block):
        return "it reads the words near the query's position, and a learned query has none"
    if attention.normaliser.draws:
        return "it learns by REINFORCE, which only the training of translations does"
    return None


READERS: Mapping[str, Callable[[LabelConfig], SentenceReader]] = Registry[Callable[[LabelConfig], SentenceReader]](
    "reader"
) | {
    "lin2017": Lin2017,
    "mean": MeanReader,
    "last": LastReader,
}


def build_reader(config: LabelConfig) -> SentenceReader:
    name = config.reader
    if name is None:
        raise UserError("model.reader: none; a classifier needs one, such as lin2017")
    if name in READERS:
        return READERS[name](config)
    if name not in ATTENTIONS and ":" not in name:
        raise UserError(f"there is no reader {name!r}; {nearest(name, [*READERS, *ATTENTIONS])}")
    return QueryReader(config, name)
