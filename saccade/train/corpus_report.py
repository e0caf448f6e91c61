"""Statistics of a corpus, the effect of cleaning, and the cleaned corpus."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from saccade import config, tasks
from saccade.data import Cleaning, CleaningReport, ListedPairs, PairSource, Selection, TextPair, open_pairs
from saccade.data.inputs import Pairs, list_pairs
from saccade.decode import load_vocabularies
from saccade.errors import UserError, plural
from saccade.journal import write_file
from saccade.names import task_name
from saccade.text import Tokeniser, letters_by_script, words

_ALL: Mapping[str, Any] = {"control": True, "identical": True, "script": 0.5, "ratio": 3.0, "duplicates": True}
TASK_PAIRS = 10_000
_COMMONEST = (1_000, 8_000, 32_000)


@dataclass(frozen=True, kw_only=True)
class TokenisationSummary:
    pieces_per_word: float
    unknown_share: float  # of the tokens: bytes of characters that are not in the vocabulary


@dataclass(frozen=True, kw_only=True)
class SideSummary:
    mean_words: float
    median_words: int
    most_words: int
    words_of_95_percent: int  # 95 % of the texts are no longer
    mean_characters: float
    scripts: dict[str, float]  # share of the letters, the largest first
    different_words: int
    covered: dict[int, float]  # share of all words that the commonest 1,000, 8,000, … account for
    spelling: TokenisationSummary | None

    def lines(self, name: str) -> Iterator[str]:
        yield (
            f"{name}: {self.mean_words:.1f} words on average, median {self.median_words}, "
            f"95 % at most {self.words_of_95_percent}, maximum {self.most_words}; {self.mean_characters:.0f} characters"
        )
        scripts = [f"{script.capitalize()} {share:.1%}" for script, share in list(self.scripts.items())[:4]]
        yield f"  scripts: {', '.join(scripts) or 'no letters'}"
        shares = [f"{few:,} are {share:.1%}" for few, share in self.covered.items() if few < self.different_words]
        commonest = f"; of all words, the commonest {', '.join(shares)}" if shares else ""
        yield f"  {self.different_words:,} different words{commonest}"
        if self.spelling is not None:
            unknown = f"{self.spelling.unknown_share:.2%} of the tokens for unknown characters"
            yield f"  {self.spelling.pieces_per_word:.2f} tokens per word, {unknown}"


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
        yield from self.source.lines("source")
        yield from self.target.lines("target")
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
    opened = _open(pairs, targets, fields)
    selection = Selection.of(opened, cleaning)
    tokenisers = None if vocabularies is None else (vocabularies.source, vocabularies.target)
    source, target = summarise((pair for _, pair in selection.selected()) if is_cleaned else opened, tokenisers)
    return CorpusReport(
        name=str(pairs) if isinstance(pairs, str | Path) else "the pairs",
        count=len(selection),
        source=source,
        target=target,
        cleaning=cleaning,
        report=selection.report(),
        is_cleaned=is_cleaned,
        changed=0 if out is None else _write(selection, Path(out)),
    )


class _SideCounter:
    """Memory: one number per text, and one per different word."""

    def __init__(self, tokeniser: Tokeniser | None) -> None:
        self.tokeniser, self.lengths = tokeniser, list[int]()
        self.letters, self.words = Counter[str](), Counter[str]()
        self.characters = self.tokens = self.unknown = 0

    def add(self, text: str) -> None:
        text_words = words(text)
        self.lengths.append(len(text_words))
        self.words.update(text_words)
        self.characters += len(text)
        self.letters.update(letters_by_script(text))
        if self.tokeniser is not None:
            ids = self.tokeniser.encode(text)
            self.tokens += len(ids)
            self.unknown += sum(map(self.tokeniser.is_unknown, ids))

    def summary(self) -> SideSummary:
        lengths = np.array(self.lengths or [0])
        letters, total = self.letters.total() or 1, self.words.total() or 1
        counts = np.cumsum(sorted(self.words.values(), reverse=True) or [0])
        spelling = None
        if self.tokeniser is not None:
            unknown = self.unknown / max(1, self.tokens)
            spelling = TokenisationSummary(pieces_per_word=self.tokens / total, unknown_share=unknown)
        return SideSummary(
            mean_words=float(lengths.mean()),
            median_words=int(np.median(lengths)),
            most_words=int(lengths.max()),
            words_of_95_percent=int(np.quantile(lengths, 0.95, method="higher")),
            mean_characters=self.characters / len(lengths),
            scripts={script: count / letters for script, count in self.letters.most_common()},
            different_words=len(self.words),
            covered={few: float(counts[min(few, len(counts)) - 1] / total) for few in _COMMONEST},
            spelling=spelling,
        )


def summarise(
    pairs: Iterable[TextPair], tokenisers: tuple[Tokeniser, Tokeniser] | None = None
) -> tuple[SideSummary, SideSummary]:
    """Summarise the source side and the target side."""
    source, target = (_SideCounter(tokeniser) for tokeniser in tokenisers or (None, None))
    for pair in pairs:
        source.add(pair.source)
        target.add(pair.target)
    return source.summary(), target.summary()


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
    if (task := task_name(str(pairs))) is not None:
        return ListedPairs([TextPair(pair.source, pair.target) for pair in tasks.task(task).pairs(TASK_PAIRS, seed=1)])
    chosen = (names[0], names[1]) if names else None
    return open_pairs(str(pairs), None if targets is None else str(targets), fields=chosen).rereadable()


def _write(selection: Selection, out: Path) -> int:
    """Write all selected pairs → the number of pairs in which a tab or a line break became a space."""
    changed, is_json = 0, out.suffix == ".jsonl"
    with write_file(out) as write:
        for _, pair in selection.selected():
            texts = [re.sub("[\t\r\n]", " ", text) for text in pair]
            changed += not is_json and texts != [*pair]
            write(json.dumps(pair._asdict(), ensure_ascii=False) if is_json else "\t".join(texts))
    return changed
