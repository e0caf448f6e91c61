"""Statistics of a corpus, the effect of cleaning, and the cleaned corpus."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from saccade import config
from saccade.data import Cleaning, CleaningReport, ListedPairs, PairSource, Selection, TextPair
from saccade.data.inputs import Pairs, list_pairs
from saccade.data.summary import SideSummary, summarise
from saccade.decode import load_vocabularies
from saccade.errors import UserError, plural
from saccade.journal import write_file
from saccade.train.recipe import WeightedCorpus

_ALL: Mapping[str, Any] = {"control": True, "identical": True, "script": 0.5, "ratio": 3.0, "duplicates": True}
TASK_PAIRS = 10_000


@dataclass(frozen=True, kw_only=True)
class CorpusReport:
    name: str
    count: int
    source: SideSummary
    target: SideSummary
    cleaning: Cleaning
    report: CleaningReport
    is_cleaned: bool  # False: the report says what cleaning would leave out
    changed: int  # written pairs in which a tab or a line break became a space

    def to_dict(self) -> dict[str, Any]:
        return {
            "pairs": self.name,
            "count": self.count,
            "source": asdict(self.source),
            "target": asdict(self.target),
            "cleaning": asdict(self.cleaning),
            "kept": self.report.kept,
            "left_out": [group._asdict() for group in self.report.left_out],
        }

    def lines(self) -> Iterator[str]:
        """The report as text, one line at a time."""
        yield f"{self.name}: {plural(self.count, 'pair')}"
        yield from _describe_side("source", self.source)
        yield from _describe_side("target", self.target)
        cleaned = f"{'' if self.is_cleaned else '--clean all: '}{self.report}"
        yield from cleaned.replace("; left out", "\n  left out").split("\n")


def describe_data(
    pairs: Pairs,
    targets: str | Path | None = None,
    *,
    fields: str | Sequence[str] | None = None,
    clean: Sequence[str] | None = None,
    out: str | Path | None = None,
    vocab_from: str | Path | None = None,
) -> CorpusReport:
    """Describe pairs and the effect of cleaning, as `saccade data` does, and write the remaining pairs to `out`.

    `clean` lists cleaning rules, such as `["duplicates", "ratio=3"]`, or `["all"]`.
    """
    is_cleaned = clean is not None or out is not None
    cleaning = _parse_cleaning((clean or []) if is_cleaned else ["all"])
    vocabularies = None if vocab_from is None else load_vocabularies(vocab_from)
    source = _open(pairs, targets, fields)
    selection = Selection.of(source, cleaning)
    tokenisers = None if vocabularies is None else (vocabularies.source, vocabularies.target)
    summary = summarise((pair for _, pair in selection.selected()) if is_cleaned else source, tokenisers)
    return CorpusReport(
        name=str(pairs) if isinstance(pairs, str | Path) else "the pairs",
        count=len(selection),
        source=summary[0],
        target=summary[1],
        cleaning=cleaning,
        report=selection.report(),
        is_cleaned=is_cleaned,
        changed=0 if out is None else _write(selection, Path(out)),
    )


def _parse_cleaning(rules: Sequence[str]) -> Cleaning:
    names = [name for rule in rules for name in (_ALL if rule == "all" else [rule])]
    assignments = [name if "=" in name else f"{name}={json.dumps(_ALL.get(name, True))}" for name in names]
    return config.from_dict(Cleaning, config.override({}, assignments), "--clean")


def _open(pairs: Pairs, targets: str | Path | None, fields: str | Sequence[str] | None) -> PairSource:
    if not isinstance(pairs, str | Path):
        return ListedPairs(list_pairs(pairs))
    names = tuple(fields.split(",") if isinstance(fields, str) else fields or ())
    if fields is not None and len(names) != 2:
        raise UserError(f"--fields {fields}: expected two, the source's and the target's, with a comma between them")
    corpus = WeightedCorpus(
        pairs=str(pairs),
        targets=None if targets is None else str(targets),
        fields=(names[0], names[1]) if names else None,
    )
    if corpus.task is not None:
        drawn = corpus.drawn("train", TASK_PAIRS, None)
        return ListedPairs([TextPair(pair.source, pair.target) for pair in drawn])
    return corpus.open().rereadable()


def _write(selection: Selection, out: Path) -> int:
    """Write all selected pairs → the number of pairs in which a tab or a line break became a space."""
    changed, is_json = 0, out.suffix == ".jsonl"
    with write_file(out) as write:
        for _, pair in selection.selected():
            texts = [re.sub("[\t\r\n]", " ", text) for text in pair]
            changed += not is_json and texts != [*pair]
            write(json.dumps(pair._asdict(), ensure_ascii=False) if is_json else "\t".join(texts))
    return changed


def _describe_side(name: str, side: SideSummary) -> Iterator[str]:
    yield (
        f"{name}: {side.mean_words:.1f} words on average, median {side.median_words}, "
        f"95 % at most {side.words_of_95_percent}, maximum {side.most_words}; {side.mean_characters:.0f} characters"
    )
    scripts = [f"{script.capitalize()} {share:.1%}" for script, share in list(side.scripts.items())[:4]]
    yield f"  scripts: {', '.join(scripts) or 'no letters'}"
    shares = [f"{few:,} are {share:.1%}" for few, share in side.covered.items() if few < side.different_words]
    commonest = f"; of all words, the commonest {', '.join(shares)}" if shares else ""
    yield f"  {side.different_words:,} different words{commonest}"
    if side.spelling is not None:
        unknown = f"{side.spelling.unknown_share:.2%} of the tokens for unknown characters"
        yield f"  {side.spelling.pieces_per_word:.2f} tokens per word, {unknown}"
