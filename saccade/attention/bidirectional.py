"""Attention in both directions between two sequences (Seo 2017, BiDAF)."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from saccade.attention.attention import Attention
from saccade.attention.heads import grouped_matmul
from saccade.attention.memory import Reading
from saccade.attention.normalisers import mask_scores
from saccade.attention.scores import Score, Trilinear


class BothWays(NamedTuple):
    to_query: Reading  # context (B, T, D): the question words that matter to each context word
    to_context: Reading  # context (B, 1, D): the context words that matter most to any question word
    merged: Tensor  # (B, T, 4·D): [h; ũ; h∘ũ; h∘h̃]


class BidirectionalAttention(nn.Module):
    """From one matrix of scores between context words h and question words u, two readings.

    Context-to-query: each h reads the question. Query-to-context: softmax over the context of maxⱼ score(hₜ, uⱼ).
    """

    def __init__(self, width: int, score: Score | None = None) -> None:
        super().__init__()
        chosen = Trilinear(width) if score is None else score
        self.attention = Attention(query_dim=width, memory_dim=width, score=chosen, project="")

    def forward(
        self,
        context: Tensor,  # (B, T, D)
        question: Tensor,  # (B, J, D)
        context_readable: Tensor | None = None,  # (B, T) bool
        question_readable: Tensor | None = None,  # (B, J) bool
    ) -> BothWays:
        question_memory = self.attention.remember(question, question_readable)
        context_memory = self.attention.remember(context, context_readable)
        if question_memory.length == 0 or context_memory.length == 0:
            raise ValueError(
                f"context and question need at least one slot each; got {context.shape[1]} and {question.shape[1]}"
            )
        context = context_memory.values.flatten(1, 2)  # unreadable words are zero
        to_query: Reading = self.attention(context, question_memory, weights=True)

        where = torch.arange(context.shape[1], device=context.device)[None]
        scores, allowed, _ = self.attention.score_slots(context, question_memory, where)
        best = scores if allowed is None else mask_scores(scores, allowed)
        weights, _ = self.attention.normaliser(
            best.amax(-1)[:, :, None],  # (B, 1, 1, T)
            None if context_readable is None else context_readable[:, None, None],
            None,
        )
        values = context_memory.values
        read = grouped_matmul(weights.to(values.dtype), values).flatten(1, 2)  # (B, 1, D)

        merged = torch.cat([context, to_query.context, context * to_query.context, context * read], -1)
        return BothWays(to_query, Reading(read, weights), merged)
