"""The rows of each table of speed.py: the work, and who takes part."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import engines
import ours
import peers
import plain_torch
import real_loop
from contest import Contestant, Local
from work import Work

from saccade.train.translation import train

Make = Callable[[Work], Contestant]

BASE: dict[str, Any] = {"width": 512, "inner": 2048, "heads": 8, "encoder_layers": 6, "decoder_layers": 6}
SMALL: dict[str, Any] = {"width": 256, "inner": 1024, "heads": 4, "encoder_layers": 3, "decoder_layers": 3}
TINY: dict[str, Any] = {"width": 16, "inner": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1}
TINY_RNN = {"embedding": 16, "hidden": 16}
# A bidirectional GRU of 256 per direction, additive attention, and a GRU of 512 that is fed its last reading: what
# OpenNMT-py and JoeyNMT call an RNN with attention.
FED_RNN = {"preset": "base", "cell": "gru", "layers": 1, "attention": "bahdanau2014"}
DEEP_AND_NARROW: dict[str, Any] = {"width": 128, "inner": 256, "heads": 4, "encoder_layers": 4, "decoder_layers": 4}
RECURRENT = {"bahdanau2014": "paper", "luong2015": "base", "sutskever2014": "base", "cho2014": "base"}
BATCHES = (64, 256, 1024, 2048)
WIDE_RNN = {"preset": "base"}  # of bahdanau2014: 512 per direction, and two GRUs of 512 around the attention


@dataclass(frozen=True)
class Row:
    work: Work
    contestants: dict[str, Make]


@dataclass(frozen=True, kw_only=True)
class Options:
    """Of rows through the real loop, and of their sizes"""

    tiny: bool = False  # sizes of a test, on the CPU
    pairs: dict[str, Any] = field(default_factory=lambda: {"pairs": "task:phrasebook-en-fr", "count": 29_000})
    tokens: int = 4096  # per batch
    updates: int = 600  # measured in each round, after as many that warm up
    folder: Path = Path()  # for the batches that peers read


Rows = dict[str, Callable[[], Row]]  # a row may take a while to prepare


def cpu_training(options: Options) -> Rows:
    batch = {"phase": "training", "vocabulary": 8000, "rows": 81, "source": 25, "target": 25, "shorter": 2}
    toolkits = _peers(peers.OPENNMT, peers.JOEYNMT)
    return _rows(
        options,
        (Work(name="rnn", model="luong2015", settings=FED_RNN, **batch), training() | _naive() | toolkits),
        (Work(name="rnn-conditional", model="bahdanau2014", settings=WIDE_RNN, **batch), training() | _naive()),
        (
            Work(name="transformer", model="vaswani2017", settings=SMALL, **batch),
            training() | _torch_transformer() | _peers(peers.MARIAN),
        ),
    )


def cpu_decoding(options: Options) -> Rows:
    batch = {"phase": "decoding", "vocabulary": 8000, "rows": 64, "source": 25, "target": 25}
    toolkits = _peers(peers.OPENNMT, peers.JOEYNMT)
    return _rows(
        options,
        (
            Work(name="base", model="vaswani2017", settings=BASE, **batch),
            decoding() | _peers(peers.MARIAN) | _ctranslate2() | _ctranslate2(int8=True),
        ),
        (
            Work(name="ctranslate2", model="vaswani2017", settings=BASE, **batch | {"rows": 256}),
            _local("Saccade", engines.translate_file) | _ctranslate2(),
        ),
        (Work(name="rnn", model="luong2015", settings=FED_RNN, **batch), decoding() | toolkits),
    )


def gpu_training(options: Options) -> Rows:
    on_gpu = {"phase": "training", "vocabulary": 10_000, "dtype": "bfloat16", "device": "cuda", "calls": 25}
    base = Work(name="base", model="vaswani2017", settings=BASE, rows=256, source=64, target=64, **on_gpu)
    beside_base = training() | _torch_transformer() | _peers(peers.MARIAN)
    if not options.tiny:
        beside_base |= _loop("Saccade, compiled", compile=True) | _compiled_torch_transformer()
    recurrent = [
        Work(name=name, model=name, settings={"preset": preset}, rows=128, source=30, target=30, **on_gpu)
        for name, preset in RECURRENT.items()
    ]
    loop = Work(
        name="tiny-loop",
        phase="training",
        model="vaswani2017",
        settings=DEEP_AND_NARROW,
        vocabulary=8000,
        rows=1,
        source=1,
        target=1,
        dtype="bfloat16",
        device="cuda",
    )
    rows = _rows(options, (base, beside_base), *((work, training()) for work in recurrent))
    return rows | {loop.name: lambda: real_loop_row(loop, options)}


def real_loop_row(work: Work, options: Options) -> Row:
    work = work.resized(device="cpu", vocabulary=400, **TINY) if options.tiny else work
    pairs = options.pairs | {"count": 300} if options.tiny else options.pairs
    recipe = real_loop.recipe_for(work, pairs, options.tokens, options.updates)
    prepared = real_loop.prepare(work, recipe, options.folder, count=min(options.updates, 200))
    measured = -(-options.updates // max(1, recipe.train.check_every // 10))

    def ours(_: Work) -> Contestant:
        # Every shape of a batch has occurred twice before its CUDA graph is there.
        return real_loop.Loop("Saccade", lambda out, log: train(recipe, out, log=log), measured, warming=measured)

    return Row(prepared, {"Saccade": ours} | _peers(peers.MARIAN))


def gpu_decoding(options: Options) -> Rows:
    batch = {"phase": "decoding", "vocabulary": 10_000, "source": 30, "target": 30, "device": "cuda"}
    rows: Rows = {}
    for name, model, settings in (("base", "vaswani2017", BASE), ("bahdanau2014", "bahdanau2014", WIDE_RNN)):
        for dtype, size in product(("float32", "float16"), BATCHES):
            work = Work(name=f"{name}-{dtype}-{size}", model=model, settings=settings, rows=size, dtype=dtype, **batch)
            peer = _peers(peers.MARIAN) if (name, dtype) == ("base", "float16") else {}
            rows |= _rows(options, (work, decoding() | peer))
    return rows


TABLES: dict[str, Callable[[Options], Rows]] = {
    "cpu-training": cpu_training,
    "cpu-decoding": cpu_decoding,
    "gpu-training": gpu_training,
    "gpu-decoding": gpu_decoding,
}


def _rows(options: Options, *rows: tuple[Work, dict[str, Make]]) -> Rows:
    return {work.name: partial(Row, _tiny(work, options.tiny), makes) for work, makes in rows}


def _tiny(work: Work, tiny: bool) -> Work:
    if not tiny:
        return work
    small = TINY if work.model == "vaswani2017" else TINY_RNN
    return work.resized(**small, vocabulary=50, rows=3, source=5, target=4, device="cpu", calls=1)


def _local(name: str, build: Callable[[Work], Callable[[], object]], *, peer: bool = False) -> dict[str, Make]:
    return {name: lambda work: Local(name, work, build, peer=peer)}


def training() -> dict[str, Make]:
    return _loop("Saccade") | _loop("Saccade, plain paths", fast_paths=False)


def _loop(name: str, **settings: Any) -> dict[str, Make]:
    return {name: lambda work: real_loop.Loop(name, partial(ours.train_on_one_batch, work, **settings))}


def decoding() -> dict[str, Make]:
    return _local("Saccade", ours.search)


def _torch_transformer() -> dict[str, Make]:
    return _local("nn.Transformer", plain_torch.transformer_step, peer=True)


def _compiled_torch_transformer() -> dict[str, Make]:
    return _local("nn.Transformer, compiled", plain_torch.compiled_transformer_step, peer=True)


def _ctranslate2(*, int8: bool = False) -> dict[str, Make]:
    name = "CTranslate2, int8" if int8 else "CTranslate2"
    return _local(name, partial(engines.bare_search, int8=int8), peer=True)


def _naive() -> dict[str, Make]:
    return _local("naive PyTorch loop", plain_torch.recurrent_step, peer=True)


def _peers(*chosen: peers.Peer) -> dict[str, Make]:
    return {peer.name: partial(peers.contestant, peer) for peer in chosen}
