"""What one writes with PyTorch alone: nn.Transformer, and a recurrent model with attention as in tutorials."""

import warnings
from collections.abc import Callable, Sequence
from itertools import cycle

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from work import Work

PAD, BOS, EOS = 0, 1, 2
SMOOTHING, CLIP = 0.1, 1.0
Call = Callable[[], object]


def tensors(work: Work, pad: int = PAD, bos: int = BOS, eos: int = EOS) -> list[tuple[Tensor, Tensor]]:
    """Of each batch: sources with the end symbol (B, S), targets with start and end symbols (B, T + 1)"""

    def padded(rows: Sequence[list[int]]) -> Tensor:
        filled = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=pad)
        return filled.to(work.device)

    return [
        (padded([[*row, eos] for row in sources]), padded([[bos, *row, eos] for row in targets]))
        for sources, targets in work.all_pairs()
    ]


def training_step(model: nn.Module, work: Work, logits_of: Callable[[Tensor, Tensor], Tensor]) -> Call:
    """A step with the smoothed loss. `logits_of` takes sources and the decoder's inputs."""
    batches = cycle(tensors(work))
    narrow = work.dtype == "bfloat16"

    def loss() -> Tensor:
        source, target = next(batches)
        with torch.autocast(source.device.type, torch.bfloat16, enabled=narrow):
            logits = logits_of(source, target[:, :-1])
        wanted = target[:, 1:].flatten()
        return F.cross_entropy(logits.float().flatten(0, 1), wanted, ignore_index=PAD, label_smoothing=SMOOTHING)

    return learning_step(model, loss)


def learning_step(model: nn.Module, loss: Callable[[], Tensor]) -> Call:
    """Forward, backward, clipping and fused AdamW"""
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.98), weight_decay=1e-4, fused=True)

    def step() -> None:
        loss().backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    return step


class TorchTransformer(nn.Module):
    """nn.Transformer with one embedding for both sides and the output, and sinusoidal positions."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        sizes, self.width = work.settings, work.settings["width"]
        self.embedding = nn.Embedding(work.vocabulary, self.width, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=self.width**-0.5)
        self.register_buffer("places", _sinusoids(max(work.source, work.target), self.width))
        self.dropout = nn.Dropout(0.1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pre-norm does without nested tensors, which only inference could use
            self.body = nn.Transformer(
                self.width,
                sizes["heads"],
                sizes["encoder_layers"],
                sizes["decoder_layers"],
                sizes["inner"],
                dropout=0.1,
                batch_first=True,
                norm_first=True,
            )

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        hidden = source == PAD
        read = self.body(
            self._embed(source),
            self._embed(target),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(target.shape[1], device=target.device),
            src_key_padding_mask=hidden,
            memory_key_padding_mask=hidden,
            tgt_is_causal=True,
        )
        return F.linear(read, self.embedding.weight)

    def _embed(self, ids: Tensor) -> Tensor:
        embedded: Tensor = self.dropout(self.embedding(ids) * self.width**0.5 + self.places[: ids.shape[1]])
        return embedded


def _sinusoids(length: int, width: int) -> Tensor:
    angles = torch.arange(length)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)


def transformer_step(work: Work) -> Call:
    model = TorchTransformer(work).to(work.device)
    return training_step(model, work, model)


def compiled_transformer_step(work: Work) -> Call:
    model = TorchTransformer(work).to(work.device)
    return training_step(model, work, torch.compile(model))


class NaiveRecurrent(nn.Module):
    """nn.GRU, and one GRUCell with additive attention per step; the keys are projected once."""

    def __init__(self, work: Work) -> None:
        super().__init__()
        embedding, hidden, states = work.recurrent
        self.of_source = nn.Embedding(work.vocabulary, embedding, padding_idx=PAD)
        self.of_target = nn.Embedding(work.vocabulary, embedding, padding_idx=PAD)
        self.encoder = nn.GRU(embedding, hidden, batch_first=True, bidirectional=True)
        self.first = nn.Linear(2 * hidden, states)
        self.keys, self.queries = nn.Linear(2 * hidden, states), nn.Linear(states, states, bias=False)
        self.score = nn.Linear(states, 1, bias=False)
        self.cell = nn.GRUCell(embedding + 2 * hidden, states)
        self.combine = nn.Linear(states + 2 * hidden + embedding, embedding)
        self.output = nn.Linear(embedding, work.vocabulary)
        self.dropout = nn.Dropout(0.2)

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        readable = source != PAD
        packed = pack_padded_sequence(
            self.dropout(self.of_source(source)), readable.sum(1).cpu(), batch_first=True, enforce_sorted=False
        )
        packed_states, last = self.encoder(packed)
        annotations, _ = pad_packed_sequence(packed_states, batch_first=True)
        keys = self.keys(annotations)
        state = torch.tanh(self.first(torch.cat([last[0], last[1]], -1)))
        outputs = []
        for word in self.dropout(self.of_target(target)).unbind(1):
            scores = self.score(torch.tanh(keys + self.queries(state)[:, None])).squeeze(-1)
            weights = scores.masked_fill(~readable, float("-inf")).softmax(-1)
            context = (weights[:, None] @ annotations).squeeze(1)
            state = self.cell(torch.cat([word, context], -1), state)
            outputs.append(torch.cat([state, context, word], -1))
        logits: Tensor = self.output(self.dropout(torch.tanh(self.combine(torch.stack(outputs, 1)))))
        return logits


def recurrent_step(work: Work) -> Call:
    model = NaiveRecurrent(work).to(work.device)
    return training_step(model, work, model)
