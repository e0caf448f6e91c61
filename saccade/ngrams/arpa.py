"""The ARPA format of n-grams, which KenLM and SRILM read: log₁₀ p, the n-gram, and log₁₀ of its back-off weight."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from saccade import files
from saccade.errors import UserError
from saccade.ngrams.chen1998 import BEGIN, Floats, Ids, Ngrams

_NEVER = -99.0  # stands for log 0


def write_arpa(path: Path, ngrams: Ngrams, words: Sequence[str]) -> None:
    for word in words:
        if not word or any(character.isspace() for character in word):
            raise UserError(f"{path}: {word!r} has white space, which separates words there")
    spelled, members = np.array(words, object), np.arange(ngrams.words)[:, None]
    probabilities = ngrams.uniform + ngrams.tables[0].left
    probabilities[BEGIN] = 0.0
    with (
        files.explain_unwritable(path),
        files.atomic_file(path) as temporary,
        temporary.open("w", encoding="utf-8") as file,
    ):
        file.write("\\data\\\n")
        file.writelines(f"ngram {length}={len(table.keys)}\n" for length, table in enumerate(ngrams.tables, 1))
        for length, table in enumerate(ngrams.tables, 1):
            if length > 1:
                histories, last = np.divmod(table.keys, ngrams.words)
                shorter = _without_first(ngrams, members, histories, last, length)
                passed = ngrams.tables[length - 2].passed[histories]
                probabilities = table.left + passed * probabilities[shorter]
                members = np.column_stack([members[histories], last])
            file.write(f"\n\\{length}-grams:\n")
            logs, weights = _log10(probabilities), _log10(table.passed)
            for log, row, weight in zip(logs, members, weights, strict=True):
                tail = "" if length == ngrams.order else f"\t{weight:.7g}"
                file.write(f"{log:.7g}\t{' '.join(spelled[row])}{tail}\n")
        file.write("\n\\end\\\n")


def _without_first(ngrams: Ngrams, members: Ids, histories: Ids, last: Ids, length: int) -> Ids:
    """The rows of w_2 … w_n in the table of the shorter n-grams; they are always there."""
    rows = members[histories][:, 1] if length > 2 else last
    for place in range(2, length):
        following = members[histories][:, place] if place < length - 1 else last
        rows = ngrams.tables[place - 1].find(rows * ngrams.words + following)
    return rows


def _log10(values: Floats) -> Floats:
    return np.log10(values, out=np.full(len(values), _NEVER), where=values > 0)
