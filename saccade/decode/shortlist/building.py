"""Make the shortlist of a model from pairs, and compare the translations with and without it."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from saccade import config, files, model_folder
from saccade.data.inputs import Pairs, name_pairs
from saccade.decode.engines.comparison import share_identical, sources_to_compare
from saccade.decode.options import DEFAULT_SEARCH
from saccade.decode.shortlist.lexicon import ITERATIONS, MOST_LINKS, IdPair, Tokens, count_links, learn_lexicon
from saccade.decode.shortlist.narrowed_model import why_no_shortlist
from saccade.decode.shortlist.options import ShortlistOptions
from saccade.decode.shortlist.tables import NAME, Shortlist, ShortlistRecord, with_special_tokens
from saccade.decode.translator import Translator
from saccade.errors import Bar, UserError, plural
from saccade.locking import locked
from saccade.text import EOS, Tokeniser, Vocabularies
from saccade.text.subwords import Sample


@dataclass(frozen=True, kw_only=True)
class MadeShortlist:
    """A shortlist as it was written to a model folder."""

    file: Path
    record: ShortlistRecord
    target_size: int

    def to_dict(self) -> dict[str, Any]:
        return {"file": str(self.file), **config.to_dict(self.record)}

    def __str__(self) -> str:
        written, record = f"{self.file}: written, from {plural(self.record.pairs, 'pair')}", self.record
        if record.identical is None:
            return f"{written}; to compare the translations with and without it, give a file of sources by --compare"
        return (
            f"{written}; {record.identical:.1%} of {plural(record.sentences, 'translation')} are identical to those "
            f"without it, and {record.scored:.1%} of {self.target_size:,} tokens are scored for a sentence on average"
        )


def make_shortlist(
    translator: Translator, folders: Sequence[Path], pairs: Pairs, options: ShortlistOptions, bar: Bar
) -> MadeShortlist:
    """Write the shortlist to the model's folder, and use it from now on."""
    if (reason := why_no_shortlist(translator.model)) is not None:
        raise UserError(f"the model cannot have a shortlist: {reason}")
    if len(folders) != 1:
        raise UserError("a shortlist is a file in the folder of one model; save the model, or load it alone")
    (folder,) = folders
    sources, vocabularies = sources_to_compare(options.compare, folders), translator.vocabularies
    with locked(folder, folder=True):
        encoded = _draw_pairs(pairs, options, vocabularies)
        with bar("learning", len(encoded) * (ITERATIONS + 1)) as advance:
            lexicon = learn_lexicon(encoded, len(vocabularies.target), advance)
        starts, best = lexicon.best(options.best, len(vocabularies.source))
        starts, best = add_copies(starts, best, vocabularies)
        always = with_special_tokens(_find_frequent(encoded, options.frequent, vocabularies.target))
        shortlist = Shortlist(starts.astype(np.int32), best.astype(np.int32), always, len(vocabularies.target))
        content = shortlist.to_bytes()
        record = ShortlistRecord(sha256=files.sha256(content), pairs=len(encoded))
        if sources:
            record = _compare(translator, shortlist, sources, record, bar)
        model_folder.add_extra(folder, {NAME: content}, shortlist=config.to_dict(record))
    translator.shortlist = shortlist
    return MadeShortlist(file=folder / NAME, record=record, target_size=shortlist.target_size)


def add_copies(starts: Tokens, best: Tokens, vocabularies: Vocabularies) -> tuple[Tokens, Tokens]:
    """Add the same token of the target, if there is one, to those of each source token: names are copied."""
    places = {piece: token for token, piece in enumerate(vocabularies.target.pieces) if token > EOS}
    copies = [(token, places[piece]) for token, piece in enumerate(vocabularies.source.pieces) if piece in places]
    rows = [best[first:last].tolist() for first, last in pairwise(starts)]
    for token, same in copies:
        rows[token] = list(dict.fromkeys([*rows[token], same]))
    return np.cumsum([0, *map(len, rows)]), np.array([token for row in rows for token in row], np.int64)


def _find_frequent(pairs: Sequence[IdPair], most: int, tokeniser: Tokeniser) -> Tokens:
    """The most frequent target tokens, and every byte that occurs: a character of several bytes needs them all."""
    counts = np.bincount(np.concatenate([target for _, target in pairs]), minlength=len(tokeniser))
    ranked = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    is_byte = np.array([tokeniser.is_unknown(token) for token in ranked.tolist()])
    return np.concatenate([ranked[:most], ranked[is_byte]])


def _draw_pairs(pairs: Pairs, options: ShortlistOptions, vocabularies: Vocabularies) -> Sequence[IdPair]:
    """A sample of the pairs, in tokens, as many as fit into memory."""
    named = name_pairs(pairs, options.targets, count=options.most, split="train")
    sample: Sample[Any] = Sample(options.most)
    for pair in named.pairs:
        if all(text.strip() for text in pair):
            sample.add(pair)
    encoded = [pair for pair in map(vocabularies.encode, sample.items) if 0 < count_links(pair) <= MOST_LINKS]
    if not encoded:
        raise UserError(f"{named.name}: every pair has a blank side; expected texts on both sides")
    links = sum(map(count_links, encoded))
    thinned = encoded[:: -(-links // MOST_LINKS)]
    fitting = np.cumsum([count_links(pair) for pair in thinned]) <= MOST_LINKS
    return thinned[: np.count_nonzero(fitting)]


def _compare(
    translator: Translator, shortlist: Shortlist, sources: Sequence[str], record: ShortlistRecord, bar: Bar
) -> ShortlistRecord:
    narrow = copy(translator)
    narrow.shortlist = shortlist
    with bar("comparing", 2 * len(sources)) as advance:
        before = translator.translate(sources, too_long="split", progress=advance)
        search = DEFAULT_SEARCH.with_options(shortlist=True)
        after = narrow.translate(sources, search, too_long="split", progress=advance)
    encode, mask = translator.vocabularies.source.encode, translator.vocabularies.mask
    scored = [shortlist.choose([encode(mask(source).text)]).allowed.shape[1] for source in sources]
    return replace(
        record,
        sentences=len(sources),
        identical=share_identical([each.text for each in before], [each.text for each in after]),
        scored=float(np.mean(scored)) / shortlist.target_size,
    )
