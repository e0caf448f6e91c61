"""How good an alignment is where no gold says so: by a second one, or by what its links have in common."""

import math
from collections import Counter
from collections.abc import Sequence

from saccade.evaluate.alignment import Links
from saccade.evaluate.references import same_count


def agreement(one: Sequence[Links], other: Sequence[Links]) -> float:
    """2·|A ∩ B| / (|A| + |B|) over a corpus, from 0 to 1; two that are empty agree."""
    same_count(one=one, other=other)
    both = sum(len(left & right) for left, right in zip(one, other, strict=True))
    total = sum(map(len, one)) + sum(map(len, other))
    return 2 * both / total if total else 1.0


def foretelling(found: Sequence[Links], sources: Sequence[Sequence[str]], targets: Sequence[Sequence[str]]) -> float:
    """How many bits the linked source word takes off a target word's surprise, on average; 0 for one without a link.

    A good alignment links the same words again and again, so that a source word, by its *other* links, foretells the
    target word: log₂ p(t | s) / p(t), with p(t | s) = (n(s, t) − 1 + p(t)) / (n(s) − 1 + 1). Leaving the link itself
    out, links that never come again gain nothing; counted in, a corpus of rare words would make any alignment good.
    """
    same_count(alignments=found, sources=sources, targets=targets)
    links = [
        (source[i].casefold(), target[j].casefold())
        for links, source, target in zip(found, sources, targets, strict=True)
        for i, j in links
    ]
    pairs, ofs, tos = Counter(links), Counter(s for s, _ in links), Counter(t for _, t in links)
    gain = 0.0
    for (s, t), times in pairs.items():
        chance = tos[t] / len(links)
        gain += times * math.log2((times - 1 + chance) / (ofs[s] * chance))
    total = sum(map(len, targets))
    return gain / total if total else 0.0
