"""CTranslate2, bare and behind `saccade translate`, with the weights of a random Transformer of Saccade."""

import os
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import ours
from work import FIRST_WORD, Work

import saccade
from saccade.decode import loading
from saccade.tasks.drawing import Pair
from saccade.text import Policy, Vocabularies

Call = Callable[[], object]
_BATCH = 64  # sentences


def vocabularies_of(work: Work) -> Vocabularies:
    """One word per id"""
    words = [f"w{number}" for number in range(FIRST_WORD, work.vocabulary)]
    pairs = [Pair(source=word, target=word) for word in words]
    return Vocabularies.train(pairs, Policy(kind="word", size=work.vocabulary, byte_fallback=False))


def texts_of(work: Work, vocabularies: Vocabularies) -> list[str]:
    return [vocabularies.source.decode(source) for source in work.pairs()[0]]


def bare_search(work: Work, *, int8: bool = False) -> Call:
    """CTranslate2 on tokens"""
    import ctranslate2

    from saccade.decode.engines.engine import write_model

    model: Any = ours.build(work).eval()
    vocabularies = vocabularies_of(work)
    with tempfile.TemporaryDirectory() as folder:
        write_model(Path(folder), model, vocabularies)
        translator = ctranslate2.Translator(
            folder, device="cpu", compute_type="int8" if int8 else "float32", intra_threads=work.threads
        )
    pieces = vocabularies.source.pieces
    tokens = [[pieces[token] for token in source] for source in work.pairs()[0]]
    return lambda: translator.translate_batch(
        tokens,
        beam_size=work.beam,
        min_decoding_length=work.target,
        max_decoding_length=work.target,
        max_batch_size=_BATCH,
    )


def translate_file(work: Work) -> Call:
    """`saccade translate` from file to file, by CTranslate2"""
    os.environ["OMP_NUM_THREADS"] = str(work.threads)  # by which the engine chooses its workers
    folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    place, vocabularies = Path(folder.name), vocabularies_of(work)
    loading.save(place / "model", ours.build(work), vocabularies)
    (place / "input.txt").write_text("".join(f"{text}\n" for text in texts_of(work, vocabularies)), encoding="utf-8")
    model = saccade.load(place / "model", device="cpu")
    outputs: Iterator[Path] = (place / f"output-{number}.txt" for number in count())

    def translate() -> None:
        assert folder is not None  # it lives as long as the call
        model.translate_file(
            place / "input.txt",
            out=next(outputs),
            beam=work.beam,
            longest=work.target,
            repeats=0,  # a random model repeats words, which CTranslate2 cannot forbid
            engine="ctranslate2",
        )

    return translate
