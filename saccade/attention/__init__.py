"""Every attention of 2014–2017, and the useful ones since, as compositions of the same few parts."""

from saccade.attention.attention import Attention, Scored
from saccade.attention.bias import ALiBi, Bias, Buckets, RelativeKeys
from saccade.attention.bidirectional import BidirectionalAttention, BothWays
from saccade.attention.hops import MultiHopAttention, hop_penalty
from saccade.attention.memory import History, Memory, Reading
from saccade.attention.normalisers import (
    Entmax15,
    GumbelStraightThrough,
    Monotonic,
    Normaliser,
    Sampled,
    Sigmoid,
    Softmax,
    SoftmaxOrNothing,
    Sparsemax,
)
from saccade.attention.positions import Learned, Rotary, Sinusoidal
from saccade.attention.scores import (
    Additive,
    Bilinear,
    Cosine,
    Coverage,
    Dot,
    DotScore,
    LocationAware,
    LocationOnly,
    ScaledDot,
    Score,
    Trilinear,
)
from saccade.attention.table import ATTENTIONS, Factory, describe
from saccade.attention.windows import Block, Both, Causal, Everywhere, Graph, Near, Predicted, Sliding, View, Window

__all__ = [
    "ATTENTIONS",
    "ALiBi",
    "Additive",
    "Attention",
    "Bias",
    "BidirectionalAttention",
    "Bilinear",
    "Block",
    "Both",
    "BothWays",
    "Buckets",
    "Causal",
    "Cosine",
    "Coverage",
    "Dot",
    "DotScore",
    "Entmax15",
    "Everywhere",
    "Factory",
    "Graph",
    "GumbelStraightThrough",
    "History",
    "Learned",
    "LocationAware",
    "LocationOnly",
    "Memory",
    "Monotonic",
    "MultiHopAttention",
    "Near",
    "Normaliser",
    "Predicted",
    "Reading",
    "RelativeKeys",
    "Rotary",
    "Sampled",
    "ScaledDot",
    "Score",
    "Scored",
    "Sigmoid",
    "Sinusoidal",
    "Sliding",
    "Softmax",
    "SoftmaxOrNothing",
    "Sparsemax",
    "Trilinear",
    "View",
    "Window",
    "describe",
    "hop_penalty",
]
