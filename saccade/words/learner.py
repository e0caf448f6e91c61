"""Word vectors as a learner of the training loop."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from saccade import config, files
from saccade.data.text_files import File, LoadedFile, is_read_once, read_content
from saccade.errors import UserError
from saccade.provenance import recording_call
from saccade.ranges import change_options
from saccade.train.distributed import Workers, join_workers
from saccade.train.learner import DataDigest, Judge, Learner, TrainingState, Validation
from saccade.train.log import Log
from saccade.train.loop import Outcome, train_learner
from saccade.train.recipe import RECIPE
from saccade.train.run import claim_folder
from saccade.train.training_options import Training
from saccade.words.corpus import NumberedCorpus, NumberedText, read_corpus
from saccade.words.mikolov2013 import Mikolov2013, Word2VecConfig
from saccade.words.options import WordTraining
from saccade.words.vectors import WordVectors, load, save
from saccade.words.windows import NEGATIVES, WindowBatch, WindowBatches, usual_batch

_TABLE = "words"  # of recipe.toml
_MAY_CHANGE = ("epochs", "device")  # when a run is resumed
_VALIDATION_WORDS = 8_192  # at once


@recording_call
def train(text: str | Path, *, log: Log | None = None, **options: Any) -> WordVectors:
    """Learn vectors from a text with one sentence per line, and load them.

    `options` are the options of `saccade words train`: `out="en-vectors", size=200, method="cbow"`.
    """
    outcome = train_vectors(change_options(WordTraining(text=str(text)), options), log=log)
    if outcome.diverged:
        raise outcome.error()
    if not outcome.finished:
        raise UserError(f"{outcome.folder}: {outcome.reason}; call train(…, resume=True) to continue")
    return load(outcome.folder)


def train_vectors(options: WordTraining, *, log: Log | None = None) -> Outcome:
    out = options.folder
    with join_workers() as workers, claim_folder(workers, out):
        if options.resume:
            _refuse_changes(options, out)
        file: File = options.text
        if is_read_once(file):
            file = LoadedFile(options.text, read_content(file))
        corpus = read_corpus(file, options)
        training = training_settings(options, corpus)
        tables = {_TABLE: _saved_options(options)}
        build = partial(WordLearner, options, corpus)
        return train_learner(build, training, out, tables=tables, resume=options.resume, log=log)


def training_settings(options: WordTraining, corpus: NumberedCorpus) -> Training:
    batch = options.batch or usual_batch(corpus, options.method)
    batches = _batches(corpus, corpus.train, options, batch)
    return Training(
        lr=options.lr,
        schedule="linear",
        warmup=0,
        weight_decay=0.0,
        clip=None,
        smoothing=0.0,
        tokens=batch,
        max_epochs=options.epochs,
        check_every=batches.in_epoch,
        patience=options.epochs + 1,
        judge="loss",
        precision="fp32",
        device=options.device,
        threads="auto" if options.threads is None else options.threads,
        seed=options.seed,
    )


def _batches(corpus: NumberedCorpus, sentences: NumberedText, options: WordTraining, words: int) -> WindowBatches:
    return WindowBatches(
        corpus,
        sentences,
        words=words,
        window=options.window,
        subsample=options.subsample,
        seed=options.seed,
        negatives=NEGATIVES[options.method],
    )


def _saved_options(options: WordTraining) -> dict[str, Any]:
    saved = config.to_dict(options)
    return {name: saved[name] for name in saved if name not in ("resume", "out")}


def _refuse_changes(options: WordTraining, out: Path) -> None:
    """A resumed run keeps its options, except the number of epochs."""
    path = files.path_inside(out, RECIPE)
    if not path.exists():
        raise UserError(f"{out}: there is no run to resume; leave --resume out to start one")
    saved = config.load_toml(path).get(_TABLE)
    if not isinstance(saved, dict):
        raise UserError(f"{path}: not a run of `saccade words train`; give another --out")
    wanted = _saved_options(options)
    for name, value in wanted.items():
        if name not in _MAY_CHANGE and saved.get(name) != value:
            raise UserError(
                f"{out}: a resumed run keeps its options: {name} was {saved.get(name)}, is {value}; "
                "type the command that began the run, or give another --out"
            )


class WordLearner(Learner[WindowBatch]):
    name, unit = "mikolov2013", "block"
    is_likelihood = False
    judge = Judge("loss", "loss", higher_is_better=False)
    usage = 'import saccade\nsaccade.words.load("this folder").similar("word")'

    model: Mikolov2013
    batches: WindowBatches

    def __init__(self, options: WordTraining, corpus: NumberedCorpus, training: Training) -> None:
        self.options, self.corpus = options, corpus
        negatives = options.negatives
        sizes = Word2VecConfig(method=options.method, words=len(corpus.words), size=options.size, negatives=negatives)
        self.model = Mikolov2013(sizes)
        self.batches = _batches(corpus, corpus.train, options, training.batch_tokens)
        self.title = f"Word vectors of {corpus.name}"
        self.about = f"{options.method} with negative sampling (word2vec), {len(corpus.words):,} words."
        self.notes = corpus.notes
        self.data = {"text": DataDigest(corpus.name, corpus.digest)}

    def loss(self, model: nn.Module, batch: WindowBatch, state: TrainingState) -> tuple[Tensor, Tensor]:
        loss = model(batch)
        return loss, loss.detach()

    def validate(self, model: nn.Module, workers: Workers) -> Validation:
        """The loss per word of the held-out sentences, with the same windows and random words each time."""
        device = next(model.parameters()).device
        batches = _batches(self.corpus, self.corpus.valid, self.options, _VALIDATION_WORDS)
        with torch.inference_mode():
            losses = [(float(model(batch.to(device))), batch.tokens) for batch in batches]
        total, words = (sum(column) for column in zip(*losses, strict=True))
        return Validation(scores={"loss": total / max(1, words)})

    def save(self, folder: Path, model: nn.Module, *, best: Mapping[str, Any], card: str) -> None:
        assert isinstance(model, Mikolov2013)
        words, counts, cased = self.corpus.words, self.corpus.counts.tolist(), self.options.cased
        save(folder, model, words, counts, best=best, cased=cased, card=card)
