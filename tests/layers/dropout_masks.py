"""The masks of `layers/dropout_triton.py`, computed by torch."""

import math

import torch
from torch import Tensor

_WORD = 0xFFFFFFFF


def dropout_mask(seed: Tensor, shape: tuple[int, ...], share: float) -> Tensor:
    """0 where a number is dropped; elsewhere what keeps the mean"""
    number, dropped = int(seed), round(share * 2**24)
    places = torch.arange(math.prod(shape), device=seed.device)
    bits = (places * ((number >> 32 & _WORD) | 1) + (number & _WORD)) & _WORD
    bits = bits ^ (bits >> 16)
    bits = (bits * 0x7FEB352D) & _WORD
    bits = bits ^ (bits >> 15)
    bits = (bits * 0x846CA68B) & _WORD
    bits = bits ^ (bits >> 16)
    return ((bits >> 8) >= dropped).view(shape) * (2**24 / (2**24 - dropped))
