"""Translation as a learner: pairs of texts, cross-entropy, and BLEU, chrF or exact matches of greedy translations.

A language model is a translator that reads no source: it learns from texts, and is judged by its loss. So is a model
that is pre-trained, which reads corrupted texts."""

import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from saccade import config, model_folder
from saccade.align.aligner import CHOICE_PAIRS, Aligner
from saccade.align.attention import AlignmentHead, Layer
from saccade.data import Stream
from saccade.data.batching import Batch, Batches
from saccade.data.corruption import Corruption
from saccade.data.prefetching import choose_processes, prefetch_windows
from saccade.data.sources import hash_pairs
from saccade.decode import load_vocabularies, loading
from saccade.decode.confidence import FEWEST, calibrate
from saccade.decode.options import Search
from saccade.decode.translator import Translator
from saccade.device import find_device, run_in_halves
from saccade.errors import UserError
from saccade.evaluation import score
from saccade.fast_paths import FastPath
from saccade.models import Seq2Seq, build_model
from saccade.models.capturing import why_not_captured
from saccade.models.fast_paths import list_fast_paths
from saccade.text import Vocabularies
from saccade.train import losses, restoration
from saccade.train.dataset import load_dataset
from saccade.train.distributed import Workers, join_workers
from saccade.train.guidance import load_alignment_guide
from saccade.train.learner import DataDigest, Judge, Learner, Shape, TrainingState, Validation
from saccade.train.log import Log
from saccade.train.loop import Outcome, start_run, train_learner
from saccade.train.recipe import Recipe
from saccade.train.resources import build_within_memory
from saccade.train.run import TrainingRun, claim_folder, refuse_used_folder
from saccade.train.training_options import Training

Observer = Callable[[TrainingState, Translator], None]

_VALIDATION_TOKENS = 32_768  # on a GPU; batches that do not fit in memory are halved

_SAMPLE = Search(sample=True, longest=30)  # of a language model, for the log

JUDGES = {
    "bleu": Judge("bleu", "BLEU"),
    "chrf": Judge("chrf", "chrF"),
    "exact": Judge("exact", "exact match"),
    "loss": Judge("loss", "loss", higher_is_better=False),
}


def train(
    recipe: Recipe,
    out: Path,
    *,
    resume: bool = False,
    log: Log | None = None,
    observe: Observer | None = None,
    explain: bool = False,
) -> Outcome:
    """Train a translation model; see `train_learner`. `observe` gets a translator with the weights that were judged."""
    with join_workers() as workers, claim_folder(workers, out):
        recipe = workers.broadcast(lambda: _copy_input(recipe, out, resume))
        build, tables = partial(TranslationLearner, recipe, out), recipe.to_dict()
        options: dict[str, Any] = {"resume": resume, "log": log, "observe": observe, "explain": explain}
        return train_learner(build, recipe.train, out, tables=tables, **options)


def start(recipe: Recipe, out: Path, *, resume: bool = False, log: Log | None = None) -> TrainingRun:
    """The run before its first step, in one process."""
    recipe = _copy_input(recipe, out, resume)
    build = partial(TranslationLearner, recipe, out)
    return start_run(build, recipe.train, out, tables=recipe.to_dict(), resume=resume, log=log)


def _copy_input(recipe: Recipe, out: Path, resume: bool) -> Recipe:
    """Standard input becomes a file of the run, which can be read again."""
    if resume:
        return recipe
    refuse_used_folder(out)
    return replace(recipe, data=recipe.data.copied_to(out))


class TranslationLearner(Learner[Batch]):
    unit = "pair"
    usage = 'import saccade\nsaccade.load("this folder").translate(["..."])'

    model: Seq2Seq[Any, Any]
    batches: Batches
    _valid_batches: Batches | None = None

    def __init__(self, recipe: Recipe, out: Path, training: Training) -> None:
        self.recipe, self.training = recipe, training
        self.dataset = dataset = load_dataset(recipe.data, out, training.seed)
        self.name, self.notes = recipe.model, dataset.notes
        self.title = f"{recipe.model} on {recipe.data.name}"
        self.judge = JUDGES[training.judge]
        contents = recipe.data.contents
        self.unit = contents.removesuffix("s")
        self.data = {
            contents: DataDigest(recipe.data.name, dataset.digest),
            f"validation {contents}": DataDigest(recipe.data.valid or recipe.data.name, hash_pairs(dataset.valid)),
        }
        self.epoch_tokens = dataset.corpus.tokens
        self.set_batch_tokens(training.batch_tokens)
        self.model = self._build_model(is_new=not (out / "training").is_dir())
        if not self.model.reads_source:
            self.usage = 'import saccade\nsaccade.lm.load("this folder").score(["..."]).perplexity'
        paper = self.model.paper
        self.about = f"{paper.authors} ({paper.year}): *{paper.title}*."
        if self.noise is not None:
            self.title = f"{recipe.model}, pre-trained on {recipe.data.name}"
            self.about, self.usage = f"{self.about} {restoration.describe(self.noise)}", restoration.USAGE
        is_guided = training.guided or recipe.data.alignments
        self.guide = load_alignment_guide(recipe, self.model, dataset) if is_guided else None
        self.needs_each_loss = losses.has_sampled_attention(self.model)  # for the baseline of REINFORCE
        if self.needs_each_loss and (training.r_drop or training.simcut):
            raise UserError(
                "train.r_drop and train.simcut cannot train a sampled attention, which learns by REINFORCE: "
                "set both to 0, or choose another attention"
            )
        reinforce = self.objective(TrainingState()).reinforce
        losses.refuse_untrainable_attention(self.model, self.trial_batch((2, 2), 1), reinforce)

    @property
    def noise(self) -> Corruption | None:
        """How texts are corrupted, if the model is pre-trained."""
        return self.dataset.form if isinstance(self.dataset.form, Corruption) else None

    def _build_model(self, *, is_new: bool) -> Seq2Seq[Any, Any]:
        recipe, vocabularies = self.recipe, self.dataset.vocabularies
        if getattr(recipe.settings, "tie", None) == "all" and not vocabularies.joint:  # even where the sizes are equal
            raise UserError("model.tie is 'all', but each side has a vocabulary of its own: set model.tie=target")
        sizes = len(vocabularies.source), len(vocabularies.target)
        model = build_within_memory(lambda: build_model(recipe.model, recipe.settings, *sizes))
        if self.training.init_from is not None and is_new:
            load_weights(model, Path(self.training.init_from), vocabularies)
        return model

    def set_batch_tokens(self, tokens: int) -> None:
        pinned = find_device(self.training.device).type == "cuda"
        self.batches = Batches(
            self.dataset.corpus,
            tokens=tokens,
            seed=self.training.seed,
            shapes=self.recipe.data.batch_shapes,
            pinned=pinned,
            both_directions=self.recipe.data.both_directions,
            form=self.dataset.form,
        )

    def describe_batches(self) -> str | None:
        """Those of a stream are not known before its first window is read."""
        return None if isinstance(self.dataset.corpus, Stream) else str(self.batches.measure())

    def prefetch(self, workers: Workers) -> AbstractContextManager[None]:
        corpus = self.dataset.corpus
        if not isinstance(corpus, Stream):
            return nullcontext()
        return prefetch_windows(self.batches, choose_processes(corpus, self.recipe.data.processes, workers.neighbours))

    def loss(self, model: nn.Module, batch: Batch, state: TrainingState) -> tuple[Tensor, Tensor]:
        assert isinstance(model, Seq2Seq)
        return losses.batch_loss(model, batch, self.objective(state))

    def objective(self, state: TrainingState) -> losses.Objective:
        """The objective of the next update."""
        training = self.training
        return losses.Objective.of(
            training,
            own_share=1 - losses.truth_share(training, state.step),
            guided=training.guided * training.guided_decay ** (self.batches.epoch - 1),
            guide=self.guide,
            reinforce=losses.Reinforce(training, state.numbers.get("baseline")) if self.needs_each_loss else None,
        )

    def why_not_captured(self) -> str | None:
        if self.needs_each_loss:
            return "a sampled attention learns by the loss of the update before"
        if self.training.sampling is not None:
            return "scheduled sampling changes with each update"
        if self.guide is not None:
            return "guided attention reads links of each pair"
        return why_not_captured(self.model)

    def fast_paths(self) -> list[FastPath]:
        return list_fast_paths(self.model, next(self.model.parameters()).device)

    def after_update(self, state: TrainingState, loss: float) -> None:
        if self.needs_each_loss:
            state.numbers["baseline"] = losses.next_baseline(state.numbers.get("baseline"), -loss)

    def predictor(self, model: nn.Module) -> Translator:
        assert isinstance(model, Seq2Seq)
        return Translator(model, self.dataset.vocabularies, next(model.parameters()).device)

    def validate(self, model: nn.Module, workers: Workers) -> Validation:
        translator, training = self.predictor(model), self.training
        loss = self._loss_per_token(translator, workers)
        scores = {"loss": loss, "perplexity": math.exp(min(loss, 50))}
        if training.judge == "loss":
            return Validation(scores=scores, sample=self._sample(translator))
        pairs = self.dataset.valid[: training.judge_on]
        sources = [pair.source for pair in workers.share(pairs)]
        share = translator.translate(sources, Search())
        shares = workers.gather([translation.text for translation in share])
        texts = [shares[place % workers.count][place // workers.count] for place in range(len(pairs))]
        normalise = self.dataset.vocabularies.target.normalise  # a model in lower case is judged in lower case
        measured = score(texts, [normalise(pair.target) for pair in pairs])
        scores |= {name: measured[name] for name in ("bleu", "chrf", "exact")}
        return Validation(scores=scores, sample=f"{pairs[0].source} → {texts[0]}")

    def _sample(self, translator: Translator) -> str | None:
        """What a language model writes, or a pre-trained model restores; another model would have to translate."""
        if self.noise is not None:
            return restoration.show_restoration(translator, self.dataset.valid_corpus, self.noise)
        if translator.model.reads_source:
            return None
        (text,) = translator.translate([""], _SAMPLE)
        return text.text

    def _loss_per_token(self, translator: Translator, workers: Workers) -> float:
        """The cross-entropy of the validation pairs, without smoothing."""
        model, device = translator.model, translator.device
        was_training = model.training
        model.eval()

        def loss_of(batch: Batch) -> Tensor:
            return losses.batch_loss(model, batch.to(device), losses.Objective())[0]

        sums, tokens = [torch.zeros((), device=device)], 0
        with torch.inference_mode():
            for batch in islice(self._validation_batches(translator, workers), workers.rank, None, workers.count):
                halves = run_in_halves(batch, loss_of, lambda batch: batch.halves() if len(batch) > 1 else (), device)
                sums += [loss for _, loss in halves]
                tokens += batch.tokens
        model.train(was_training)
        total = float(torch.stack(sums).cpu().double().sum())  # waits for the device, once
        totals, counts = zip(*workers.gather((total, tokens)), strict=True)
        return float(sum(totals) / sum(counts))

    def _validation_batches(self, translator: Translator, workers: Workers) -> Batches:
        """The same batches at every validation."""
        size = max(1, self._validation_tokens(translator, self.training.batch_tokens) // workers.count)
        if self._valid_batches is None or self._valid_batches.tokens != size:
            self._valid_batches = Batches(self.dataset.valid_corpus, tokens=size, seed=1, form=self.dataset.form)
        self._valid_batches.restore({"epoch": 1, "window": 0, "index": 0})
        return self._valid_batches

    @staticmethod
    def _validation_tokens(translator: Translator, usual: int) -> int:
        """Nothing is saved for a backward pass, so that a GPU has room for larger batches than in training."""
        return max(usual, _VALIDATION_TOKENS) if translator.device.type == "cuda" else usual

    def save(self, folder: Path, model: nn.Module, *, best: Mapping[str, Any], card: str) -> None:
        assert isinstance(model, Seq2Seq)
        extra: dict[str, Any] = {"best": best, **(restoration.extra_values(self.noise) if self.noise else {})}
        if self.dataset.form is None:
            extra["longest_trained"] = self.dataset.longest_source
        elif self.dataset.form.block is not None:
            extra["block"] = self.dataset.form.block
        loading.save(folder, model, self.dataset.vocabularies, extra=extra, card=card)

    def finish(self, folder: Path) -> list[str]:
        """Fit the confidence of the best model, and choose which of its attention heads aligns words."""
        if self.noise is not None:
            return [f"train it on pairs: saccade train PAIRS --init-from {folder}"]
        if not self.model.reads_source:
            return []
        translator = loading.load(folder, device=next(self.model.parameters()).device)
        pairs, lines = self.dataset.valid[: self.training.judge_on], []
        if len(pairs) < FEWEST:
            lines.append(
                f"confidence is not calibrated: that needs at least {FEWEST} validation pairs, got {len(pairs)}"
            )
        else:
            calibration = calibrate(translator, pairs)
            model_folder.add_extra(folder, calibration=config.to_dict(calibration))
            lines.append(str(calibration))
        if self.model.cross and len(self.dataset.valid) >= FEWEST:
            head, line = self._choose_head(translator)
            model_folder.add_extra(folder, reader=config.to_dict(head))
            lines.append(line)
        return lines

    def _choose_head(self, translator: Translator) -> tuple[AlignmentHead, str]:
        """The guided head, or the one whose links predict best. A head that suits one model ruins the alignments of
        another."""
        training = self.training
        if training.guided:
            layer: Layer = "all" if training.guided_layer is None else training.guided_layer
            head = AlignmentHead(layer=layer, head=training.guided_head, shift=self.model.alignment_shift)
            return head, f"alignment: {head}, which was guided"
        pairs = ((pair.source, pair.target) for pair in self.dataset.valid[:CHOICE_PAIRS])
        _, choice = Aligner(translator).with_best_head(pairs, every_head=True, every_shift=True)
        return choice.head, f"alignment of {choice.unit}s: {choice}"

    def shapes(self) -> list[Shape]:
        """The longest pairs, in each direction that is trained, and, if one side is always shorter, pairs that are long
        on both sides: a batch holds more of those."""
        sides, form = self.dataset.corpus.longest_sides, self.dataset.form
        sides = sides if form is None else form.longest_sides(sides)
        longest = tuple(length + 1 for length in sides)  # with bos or eos
        reverse = [longest[::-1]] if self.recipe.data.both_directions else []
        return list(dict.fromkeys([longest, *reverse, (min(longest),) * 2]))

    def trial_batch(self, shape: Shape, rows: int) -> Batch:
        corpus = self.dataset.valid_corpus
        source, target = (
            np.resize(side(0), size - 1) for side, size in zip((corpus.source, corpus.target), shape, strict=True)
        )
        return Batch.of([source] * rows, [target] * rows, [0] * rows)


def load_weights(model: Seq2Seq[Any, Any], folder: Path, vocabularies: Vocabularies) -> None:
    """Load the weights of the model in `folder`, which must have the same sizes and the same vocabulary."""
    tensors, described = model_folder.load_model(folder)
    if load_vocabularies(folder).hash != vocabularies.hash:
        raise UserError(
            f"train.init_from: the vocabulary of {folder} is not the run's, so its weights belong to other tokens; "
            "set data.vocab_from to it, too"
        )
    expected, stored = _kinds(model.state_dict()), _kinds(tensors)
    differing = [name for name in sorted(expected.keys() | stored.keys()) if expected.get(name) != stored.get(name)]
    if differing:
        name = differing[0]
        others = f", and {len(differing) - 1} more" if len(differing) > 1 else ""
        raise UserError(
            f"train.init_from: the {described.model} of {folder} does not fit the model of this recipe: {name} is "
            f"{stored.get(name, 'not there')}, expected {expected.get(name, 'no such tensor')}{others}; "
            f"copy [model] from {folder / 'recipe.toml'}"
        )
    model.load_state_dict(tensors)


def _kinds(tensors: Mapping[str, Tensor]) -> dict[str, str]:
    return {name: f"{tuple(tensor.shape)} of {tensor.dtype}" for name, tensor in tensors.items()}
