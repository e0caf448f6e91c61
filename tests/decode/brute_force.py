"""All texts that can be written, and independent definitions of which of them meet the constraints."""

from dataclasses import dataclass, field
from itertools import product

import torch
from search_models import Chain
from torch import Tensor, nn

from saccade.attention.memory import Reading
from saccade.attention.trace import record
from saccade.decode import Constraints, Search
from saccade.decode.constraints.outline import TokenBytes
from saccade.text import EOS, UNK, Policy, word_spans

Tokens = tuple[int, ...]
SURFACES = ["", "⁇", "", "", "▁a", "a", "b", "▁"]
PIECES = (UNK, 4, 5, 6, 7)


@dataclass
class Spelled:
    """As much of a tokeniser as a lexicon asks for, with a vocabulary that can be gone through."""

    right_to_left: bool = False
    policy: Policy = field(default_factory=Policy)
    surfaces: list[bytes] = field(default_factory=lambda: [surface.encode() for surface in SURFACES])
    tags: dict[str, int] = field(default_factory=dict)

    def decode(self, ids: Tokens) -> str:
        in_order = ids[::-1] if self.right_to_left else ids
        return "".join(SURFACES[piece] for piece in in_order).replace("▁", " ").removeprefix(" ")

    @property
    def token_bytes(self) -> TokenBytes:
        return TokenBytes(self)  # type: ignore[arg-type]


class Watched(Chain):
    """A chain that looks at two source pieces, as the place and the last token decide."""

    def __init__(self, seed: int, scale: float, places: int = 8) -> None:
        generator = torch.Generator().manual_seed(seed)
        size = len(SURFACES)
        super().__init__(torch.randn(places, size, size, size, generator=generator) * scale)
        self.looking = nn.Identity()
        self.looks = torch.softmax(torch.randn(places, size, 3, generator=generator) * 3, -1)  # and at the end

    @property
    def cross(self) -> list[str]:
        return ["looking"]

    def step(self, token: Tensor, t: Tensor, fixed: Tensor, moving: Tensor) -> tuple[Tensor, Tensor]:
        record(self.looking, Reading(moving, self.looks[t, token][:, None, None]))
        return super().step(token, t, fixed, moving)

    def log_prob(self, first: int, written: Tokens) -> float:
        steps = torch.log_softmax(self.logits[:, first], -1)
        last = (2, *written)
        return sum(float(steps[t, last[t], token]) for t, token in enumerate(written))

    def coverage(self, written: Tokens) -> float:
        looks = sum(self.looks[t, token] for t, token in enumerate((2, *written[:-1])))
        assert isinstance(looks, Tensor)
        return float(looks[:2].clamp_max(1.0).log().sum())


def has(text: str, phrase: str) -> bool:
    return fits(text, ["", f" {phrase} ", ""])


def fits(text: str, parts: list[str]) -> bool:
    """Whether texts can be put for the gaps between `parts` so that `text` comes out, whole words standing where a
    part has white space towards a gap."""
    inside = {place for start, end in word_spans(text) for place in range(start + 1, end)}

    def rest(start: int, number: int) -> bool:
        if number == len(parts):
            return True
        part, words = parts[number], parts[number].strip()
        if not words:
            return rest(start, number + 1)
        first, last = number == 0, number == len(parts) - 1
        for at in range(start, len(text) - len(words) + 1):
            end = at + len(words)
            if text[at:end] != words or (first and at) or (last and end != len(text)):
                continue
            if not first and part[0].isspace() and at in inside:
                continue
            if not last and part[-1].isspace() and end in inside:
                continue
            if rest(end, number + 1):
                return True
        return False

    return rest(0, 0)


def required(text: str, constraints: Constraints) -> list[tuple[str, bool]]:
    """The required texts, and whether each is there."""
    texts = [(phrase, has(text, phrase)) for phrase in constraints.include]
    if constraints.prefix:
        texts.append((constraints.prefix, text.startswith(constraints.prefix)))
    if constraints.outline:
        texts.append((constraints.outline, fits(text, constraints.outline.split("…"))))
    return texts


def contains_excluded(text: str, constraints: Constraints) -> bool:
    return any(has(text, phrase) for phrase in constraints.exclude)


def well_formed(tokens: Tokens, search: Search, exempt: int) -> bool:
    """Whether `no_repeat` and `repeats` hold, for all but the first `exempt` tokens."""
    for end in range(exempt + 1, len(tokens) + 1):
        if search.no_repeat is not None and end > search.no_repeat:
            runs = [tokens[i : i + search.no_repeat] for i in range(end - search.no_repeat + 1)]
            if runs[-1] in runs[:-1]:
                return False
        if search.repeats:
            for size in range(1, end // (search.repeats + 1) + 1):
                tail = tokens[end - size * (search.repeats + 1) : end]
                if tail == tail[:size] * (search.repeats + 1):
                    return False
    return True


def begun_with(tokens: Tokens, constraints: Constraints, tokeniser: Spelled) -> int:
    """The number of tokens that write the required beginning, to which `no_repeat` and `repeats` do not apply."""
    parts = constraints.outline.split("…")
    beginning = parts[-1].strip() if tokeniser.right_to_left else (constraints.prefix or parts[0].strip())
    if not beginning:
        return 0
    for count in range(len(tokens) + 1):
        text = tokeniser.decode(tokens[:count])
        if text.endswith(beginning) if tokeniser.right_to_left else text.startswith(beginning):
            return count
    return len(tokens)


def every(longest: int) -> list[Tokens]:
    """All outputs up to this length, including the end symbol."""
    return [(*words, EOS) for length in range(longest) for words in product(PIECES, repeat=length)]
