"""What is measured: a model, its sizes, and a batch of random pairs. Peers read it, too, so it imports nothing but the
standard library.
"""

import json
import random
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

FIRST_WORD = 4  # ids below it are special in every system
Sequences = list[list[int]]


@dataclass(frozen=True, kw_only=True)
class Work:
    name: str
    phase: Literal["training", "decoding"]
    model: str  # its name in Saccade
    settings: dict[str, Any] = field(default_factory=dict)  # of the model, by Saccade's names
    vocabulary: int
    rows: int  # pairs in the batch
    source: int  # tokens of the longest source, with the end symbol
    target: int  # tokens of the longest target, with the end symbol; in decoding, of every output
    shorter: int = 0  # lengths are drawn from `source` − `shorter` … `source`
    beam: int = 5
    dtype: Literal["float32", "bfloat16"] = "float32"
    device: str = "cpu"
    threads: int = 1
    calls: int = 1  # per round
    seed: int = 1
    batches: str | None = None  # a JSON file of batches of pairs to train on, one per call, instead of random pairs

    @property
    def unit(self) -> str:
        """Figures on a CPU are per CPU-second, because other programs share it."""
        what = "target tokens" if self.phase == "training" else "sentences"
        return f"{what} per {'CPU-second' if self.device == 'cpu' else 'second'}"

    @cached_property
    def units(self) -> float:
        """Target tokens, or sentences, of one call; of batches from a file, the mean"""
        if self.phase == "decoding":
            return self.rows
        batches = self.all_pairs()
        return sum(len(target) + 1 for _, targets in batches for target in targets) / len(batches)

    def all_pairs(self) -> list[tuple[Sequences, Sequences]]:
        """The batches that the calls train on in turn"""
        if self.batches is None:
            return [self.pairs()]
        read = json.loads(Path(self.batches).read_text(encoding="utf-8"))
        return [(sources, targets) for sources, targets in read]

    def pairs(self) -> tuple[Sequences, Sequences]:
        """Sources and targets, without start and end symbols. The first pair has the full length."""
        drawn = random.Random(self.seed)

        def side(longest: int) -> Sequences:
            lengths = [longest - 1 - (drawn.randint(0, self.shorter) if row else 0) for row in range(self.rows)]
            return [[drawn.randrange(FIRST_WORD, self.vocabulary) for _ in range(length)] for length in lengths]

        return side(self.source), side(self.target)

    def resized(self, **sizes: Any) -> "Work":
        """With other fields; those that are not fields of the work are settings of the model."""
        fields = {name: value for name, value in sizes.items() if name in self.__dataclass_fields__}
        settings = {name: value for name, value in sizes.items() if name not in fields}
        return replace(self, **fields, settings=self.settings | settings)

    @property
    def recurrent(self) -> tuple[int, int, int]:
        """The widths of embeddings, of each direction of the encoder, and of the decoder, for systems that call them
        otherwise"""
        embedding, hidden = self.settings.get("embedding", 256), self.settings.get("hidden", 512)
        return embedding, hidden if self.model == "bahdanau2014" else hidden // 2, hidden

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Work":
        return cls(**json.loads(text))
