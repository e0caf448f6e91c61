"""Align all pairs of a file or a task, and score the links against gold."""

import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from saccade.align.aligner import AlignedPair, Aligner, AttentiveModel, HeadEntropies
from saccade.align.attention import AlignmentHead
from saccade.align.gold import find_gold, format_gold, format_links
from saccade.align.links import GoldLinks, sort_links
from saccade.align.options import AlignOptions, LinkFormat, StatisticalModel
from saccade.align.scores import AlignmentScores, HeadChoice, score_alignments, score_baselines
from saccade.align.statistical.learning import StatisticalAligner, learn_from, split_pairs
from saccade.data import TextPair
from saccade.data.inputs import NamedPairs, Pairs, name_pairs
from saccade.errors import Bar, Say, as_bar, say
from saccade.journal import refuse_folder, write_file
from saccade.ranges import change_options

Table = tuple[list[str], list[list[str]]]


@dataclass(frozen=True)
class CorpusAlignment:
    name: str
    aligner: Aligner | StatisticalAligner
    head: AlignmentHead | None  # with the model's defaults resolved; None: the links are not by attention
    choice: HeadChoice | None
    notes: list[str]  # how the head was chosen
    scores: dict[str, AlignmentScores]  # of the aligner and of two that read nothing; empty without gold
    entropy: list[list[float]] | None  # in bits, of each head of each layer

    def tables(self, *, entropy: bool = True) -> list[Table]:
        tables = [alignment_table(self.scores)] if self.scores else []
        if entropy and self.entropy is not None:
            widest = max(map(len, self.entropy), default=0)
            rows = [
                [str(number), *(f"{bits:.2f}" for bits in heads), *[""] * (widest - len(heads))]
                for number, heads in enumerate(self.entropy)
            ]
            tables.append((["entropy, bits: layer", *(f"head {head}" for head in range(widest))], rows))
        return tables

    def to_dict(self) -> dict[str, Any]:
        return {
            "pairs": self.name,
            "symmetrised": self.aligner.symmetrised,
            "unit": self.aligner.by,
            "learnt_pairs": self.aligner.learnt_pairs if isinstance(self.aligner, StatisticalAligner) else None,
            "reader": self.head and asdict(self.head),
            "choice": self.choice and self.choice.to_dict(),
            "scores": {name: asdict(scores) for name, scores in self.scores.items()},
            "entropy_bits": self.entropy,
        }


def align_file(
    model: AttentiveModel | StatisticalModel,
    pairs: Pairs,
    targets: str | Path | None = None,
    *,
    out: str | Path | None = None,
    reverse: AttentiveModel | None = None,
    write: Callable[[str], None] = print,
    bar: Bar | None = None,
    **options: Any,
) -> CorpusAlignment:
    """Align a file of pairs by a model with attention, or by "ibm1", "ibm2" or "hmm", which learn from these pairs.

    One line of links per pair goes to the file `out`, which is created at the end, or to the function `write`.
    `options` are the options of `saccade align`.
    """
    path = None if out is None else Path(out)
    refuse_folder("out", path)
    chosen = change_options(AlignOptions(), {**options, "targets": targets})
    with nullcontext(write) if path is None else write_file(path) as write:
        return align_corpus(model, pairs, chosen, reverse=reverse, write=write, say=say, bar=bar)


def align_corpus(
    model: AttentiveModel | StatisticalModel,
    pairs: Pairs,
    options: AlignOptions | None = None,
    *,
    reverse: AttentiveModel | None = None,
    write: Callable[[str], None] = lambda _: None,
    say: Say = lambda _: None,
    bar: Bar | None = None,
) -> CorpusAlignment:
    """Align `pairs` by `model`, or by it and its `reverse`; `write` gets the lines of links."""
    options, bar = options or AlignOptions(), bar or as_bar(None)
    corpus = name_pairs(pairs, options.targets, count=options.count, seed=options.seed)
    if isinstance(model, str):
        aligner, gold = _learn(model, corpus, options, bar)
        return _align(corpus, aligner, gold, options, write, bar, name=model)
    options.refuse_choices_of_learning()
    attending, gold = _attend(model, reverse, corpus, options, say)
    choice, notes = None, []
    if options.best_head or options.shift == "auto":
        attending, choice = _choose(attending, corpus, gold, options)
        notes.append(str(choice))
        if choice.by == "gold" and options.valid is None:
            notes.append("it was chosen by the gold that it is scored on; give --valid for a fair score")
    aligned = _align(corpus, attending, gold, options, write, bar, name="attention")
    return replace(aligned, choice=choice, notes=notes)


def _attend(
    model: AttentiveModel, reverse: AttentiveModel | None, corpus: NamedPairs, options: AlignOptions, say: Say
) -> tuple[Aligner, Sequence[GoldLinks] | None]:
    """The aligner that the options choose, in the unit of the corpus, and the gold."""
    head = AlignmentHead.from_options(options)
    aligner = Aligner(
        model,
        head,
        reverse=reverse,
        reverse_head=head,
        symmetrisation=options.symmetrise,
        tokenised=options.tokenised,
        by=options.by if options.gold is None or options.by != "auto" else "word",
        batch_tokens=options.batch_tokens,
    )
    aligner = replace(aligner, by=aligner.unit(corpus.pairs))
    if aligner.by == "piece" and options.by == "auto":
        say("links are between pieces; --by word links words")
    return aligner, _find_gold(corpus, options.gold, options, aligner)


def _learn(
    model: StatisticalModel, corpus: NamedPairs, options: AlignOptions, bar: Bar
) -> tuple[StatisticalAligner, Sequence[GoldLinks] | None]:
    """The aligner learnt from the corpus, and the gold, which is read first."""

    def lengths(pairs: Iterable[TextPair]) -> list[tuple[int, int]]:
        return [(len(source), len(target)) for source, target in split_pairs(pairs, tokenised=options.tokenised)]

    gold = find_gold(corpus, options.gold, lengths, options.gold_base)
    return learn_from(corpus, model, options, bar), gold


def _align(
    corpus: NamedPairs,
    aligner: Aligner | StatisticalAligner,
    gold: Sequence[GoldLinks] | None,
    options: AlignOptions,
    write: Callable[[str], None],
    bar: Bar,
    *,
    name: str,
) -> CorpusAlignment:
    """Write the links of all pairs, and score them under `name`."""
    total = sum(1 for _ in corpus.pairs) if gold is None else len(gold)
    head = aligner.head if isinstance(aligner, Aligner) else None
    entropies, links, lengths = HeadEntropies(), [], []
    with bar("aligning", total) as advance:
        for number, pair in enumerate(aligner.align(corpus.pairs), 1):
            for line in format_pair(pair, number, options.format):
                write(line)
            if pair.attention is not None:
                head = head and head.resolve(pair.attention)
                if options.entropy:
                    entropies.add(pair.attention)
            if gold is not None:
                links.append(pair.links)
                lengths.append((len(pair.source), len(pair.target)))
            advance(1)
    scores = {} if gold is None else {name: score_alignments(links, gold), **score_baselines(gold, lengths)}
    entropy = entropies.mean() if options.entropy else None
    return CorpusAlignment(corpus.name, aligner, head, None, [], scores, entropy)


def format_pair(pair: AlignedPair, number: int, form: LinkFormat) -> list[str]:
    """Write the links of a pair as lines of a file; `number` counts pairs from 1."""
    if form == "pharaoh":
        return [format_links(pair.links)]
    if form == "gold":
        return format_gold(pair.links, number)
    values = {
        "line": number,
        "unit": pair.unit,
        f"source_{pair.unit}s": list(pair.source),
        f"target_{pair.unit}s": list(pair.target),
        "alignment": [list(link) for link in sort_links(pair.links)],
        "weights": pair.weights.round(4).tolist(),
    }
    return [json.dumps(values, ensure_ascii=False)]


def alignment_table(scores: dict[str, AlignmentScores]) -> Table:
    rows = [
        [name, *(f"{value:.3f}" for value in (each.aer, each.precision, each.recall))] for name, each in scores.items()
    ]
    return ["alignment to gold", "AER", "precision", "recall"], rows


def _choose(
    aligner: Aligner, corpus: NamedPairs, gold: Sequence[GoldLinks] | None, options: AlignOptions
) -> tuple[Aligner, HeadChoice]:
    if options.valid is not None:
        corpus = name_pairs(options.valid, count=options.count, seed=options.seed + 1)  # other pairs of a task
        gold = _find_gold(corpus, options.valid_gold, options, aligner)
    return aligner.with_best_head(corpus.pairs, gold, every_head=options.best_head, every_shift=options.shift == "auto")


def _find_gold(
    corpus: NamedPairs, path: Path | None, options: AlignOptions, aligner: Aligner
) -> Sequence[GoldLinks] | None:
    """Reads a file at once, so that a mistake in its last line is reported before hours of work."""
    if path is None and aligner.by != "word":
        return None
    return find_gold(corpus, path, aligner.lengths, options.gold_base)
