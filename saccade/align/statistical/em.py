"""Expectation maximisation (Dempster, Laird, Rubin 1977): one direction of an alignment model, learnt from pairs.

Each iteration counts what the model expects of every pair (E), and fits the model to the counts (M). IBM model 1 comes
first: its likelihood has no bad local maxima, and its lexical table is where model 2 and the HMM start.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from saccade.align.options import StatisticalModel
from saccade.align.statistical.bitext import LinkBlock
from saccade.align.statistical.hmm import Hmm
from saccade.align.statistical.ibm import Expectation, Ibm1, Ibm2, Lengths
from saccade.align.statistical.lexicon import PRIOR, Floats, LexicalCounts, LexicalTable

Positions = Ibm1 | Ibm2 | Hmm
STAGES: dict[StatisticalModel, tuple[type[Positions], ...]] = {
    "ibm1": (Ibm1,),
    "ibm2": (Ibm1, Ibm2),
    "hmm": (Ibm1, Hmm),
}


@dataclass(frozen=True)
class Direction:
    """p(target | source): which words translate which, and where they stand."""

    lexicon: LexicalTable
    positions: Positions

    def expect(self, block: LinkBlock) -> Expectation:
        return self.positions.expect(*self.lexicon.look_up(block))

    def improve(
        self, blocks: Sequence[LinkBlock], prior: float = PRIOR, advance: Callable[[int], None] = lambda pairs: None
    ) -> "tuple[Direction, float]":
        """One iteration. The float is the log-likelihood of the pairs before it."""
        counts, log_likelihood = LexicalCounts(self.lexicon), 0.0
        moves: dict[Lengths, Floats] = {}
        for block in blocks:
            expected = self.expect(block)
            counts.add(block, expected.words, expected.empty)
            lengths = (block.target.shape[1], block.source.shape[1])
            moves[lengths] = moves.get(lengths, np.zeros(1)) + expected.moves
            log_likelihood += expected.log_likelihood
            advance(len(block.numbers))
        return Direction(counts.to_table(prior), self.positions.improve(moves)), log_likelihood


def learn_direction(
    model: StatisticalModel,
    blocks: Sequence[LinkBlock],
    lexicon: LexicalTable,
    *,
    iterations: int,
    prior: float = PRIOR,
    advance: Callable[[int], None] = lambda pairs: None,
) -> Direction:
    direction = Direction(lexicon, Ibm1())
    for positions in STAGES[model]:
        direction = replace(direction, positions=positions())
        for _ in range(iterations):
            direction, _ = direction.improve(blocks, prior, advance)
    return direction
