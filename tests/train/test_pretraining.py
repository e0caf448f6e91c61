"""Pre-training on texts, and training on pairs that starts from it."""

from pathlib import Path
from typing import Any

import pytest
import torch

import saccade
from saccade import model_folder
from saccade.errors import UserError
from saccade.evaluation import score
from saccade.model_folder import PRETRAINED
from saccade.ranges import OptionError
from saccade.tasks import task
from saccade.train.pretraining import PretrainingRequest, plan_pretraining, pretrain_model
from saccade.train.recipe import Recipe, recipe_of
from saccade.train.request import TrainingRequest, plan_recipe
from saccade.train.translation import start, train

SMALL = (
    *("model.width=16", "model.inner=32", "model.heads=2", "model.encoder_layers=1", "model.decoder_layers=1"),
    *("train.tokens=300", "train.threads=1", "train.device=cpu", "train.check_every=4", "train.patience=1000"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """french.txt and pairs.tsv"""
    folder = tmp_path_factory.mktemp("texts")
    write(folder, texts=150, pairs=60)
    return folder


def write(folder: Path, *, texts: int, pairs: int) -> None:
    drawn = [*task("phrasebook-en-fr").pairs(texts + pairs, seed=1)]
    (folder / "french.txt").write_text("".join(f"{pair.target}\n" for pair in drawn[pairs:]), encoding="utf-8")
    lines = "".join(f"{pair.source}\t{pair.target}\n" for pair in drawn[:pairs])
    (folder / "pairs.tsv").write_text(lines, encoding="utf-8")


def request(folder: Path, *settings: str, **options: Any) -> PretrainingRequest:
    texts, pairs = str(folder / "french.txt"), str(folder / "pairs.tsv")
    return PretrainingRequest(texts=(texts,), pairs=pairs, settings=(*SMALL, *settings), **options)


@pytest.fixture(scope="module")
def pretrained(folder: Path) -> Path:
    return pretrain_model(request(folder, out=folder / "pretrained", budget="8")).folder


def test_recipe_is_chosen_for_the_texts(folder: Path) -> None:
    reasons: list[str] = []
    recipe = plan_pretraining(request(folder, objective="masked", budget="50"), reasons.append)
    data = recipe.data
    assert (data.contents, data.noise and data.noise.objective, recipe.model) == ("text", "masked", "vaswani2017")
    assert [(Path(corpus.pairs).name, corpus.side, corpus.weight) for corpus in data.corpora] == [
        ("french.txt", None, 1.0),
        ("pairs.tsv", "source", 1.32),  # (150 / 60) ** 0.3
        ("pairs.tsv", "target", 1.32),
    ]
    assert recipe.train.judge == "loss" and recipe.train.r_drop == 0 and recipe.train.max_steps == 50
    assert reasons[0] == "270 texts of about 11 words" and not any("little time" in reason for reason in reasons)
    assert recipe_of(recipe.to_dict(), "again") == recipe


def test_folder_says_what_it_is(pretrained: Path, capsys: pytest.CaptureFixture[str]) -> None:
    card = (pretrained / "README.md").read_text(encoding="utf-8")
    assert "pre-trained on" in card and "does not translate" in card and 'init_from="this folder"' in card
    extra = model_folder.load_config(pretrained).extra
    assert extra[PRETRAINED]["objective"] == "denoise" and "calibration" not in extra and "reader" not in extra
    model = saccade.load(pretrained, device="cpu")
    assert "restores its input and does not translate" in capsys.readouterr().err
    assert len(model.translate(["le chat dort."], longest=5)) == 1


def test_validations_use_the_same_corruption_and_show_it(folder: Path, tmp_path: Path) -> None:
    run = start(plan_pretraining(request(folder), lambda reason: None), tmp_path / "run")
    first, again = (run.learner.validate(run.model, run.workers) for _ in range(2))
    assert first == again and first.sample is not None
    corrupted, written = first.sample.split(" → ")
    assert "⁇" in corrupted and written


def recipe_of_pairs(folder: Path, pretrained: Path, **options: Any) -> Recipe:
    pairs = TrainingRequest(
        pairs=str(folder / "pairs.tsv"), init_from=pretrained, settings=SMALL[5:], out=folder / "none", **options
    )
    return plan_recipe(pairs, lambda reason: None)


def test_training_on_pairs_starts_from_the_same_weights(folder: Path, pretrained: Path, tmp_path: Path) -> None:
    recipe = recipe_of_pairs(folder, pretrained)
    assert recipe.settings.width == 16 and recipe.settings.dropout == 0.2  # that of so few pairs
    run = start(recipe, tmp_path / "run")
    saved, _ = model_folder.load_model(pretrained)
    assert all(torch.equal(tensor, saved[name]) for name, tensor in run.model.state_dict().items())


def test_learning_rate_is_the_usual_one_after_texts_and_lower_after_pairs(
    folder: Path, pretrained: Path, tmp_path: Path
) -> None:
    after_texts = recipe_of_pairs(folder, pretrained, budget="4")
    trained = train(after_texts, tmp_path / "translator").folder
    assert PRETRAINED not in model_folder.load_config(trained).extra
    after_pairs = recipe_of_pairs(folder, trained)
    assert after_pairs.train.lr == pytest.approx(0.3 * recipe_of_pairs(folder, pretrained).train.lr)


def test_another_size_is_refused(folder: Path, pretrained: Path, tmp_path: Path) -> None:
    recipe = recipe_of_pairs(folder, pretrained).to_dict()
    recipe["model"]["width"] = 32
    with pytest.raises(UserError, match=r"the vaswani2017 of .* does not fit the model of this recipe"):
        start(recipe_of(recipe, "test"), tmp_path / "run")


@pytest.mark.parametrize(("objective", "streaming"), [("denoise", "true"), ("masked", "false")])
def test_resumed_run_is_exact(folder: Path, tmp_path: Path, objective: Any, streaming: str) -> None:
    settings = (f"data.streaming={streaming}", "data.buffer=100", "train.schedule=constant", "data.processes=0")

    def run(name: str, updates: int, *, resume: bool = False) -> dict[str, torch.Tensor]:
        options = {"out": tmp_path / name, "budget": str(updates), "resume": resume, "objective": objective}
        ended = pretrain_model(request(folder, *settings, **options))
        weights: dict[str, torch.Tensor] = model_folder.load_training(ended.folder)["model"]
        return weights

    # The warm-up and the average depend on the budget, so they are set.
    settings += ("train.warmup=2", "train.ema=0.9")
    whole = run("whole", 12)
    run("cut", 5)
    resumed = run("cut", 12, resume=True)
    assert all(torch.equal(tensor, resumed[name]) for name, tensor in whole.items())


def test_resuming_with_another_objective_is_refused(folder: Path, pretrained: Path) -> None:
    with pytest.raises(UserError, match=r"data.noise.objective was denoise, is masked"):
        pretrain_model(request(folder, out=pretrained, budget="12", objective="masked", resume=True))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (("data.block=16",), "data.block: is for language models"),
        (("data.right_to_left=true",), "data.noise: restores texts from left to right"),
        (("data.vocabulary.byte_fallback=false",), "data.noise: hides tokens by <unk>"),
        (("data.noise.share=1.5",), "data.noise.share: "),
        (("train.judge=bleu",), "train.judge: bleu compares with a reference"),
        (("data.contents=pairs",), "data.noise: is for a text: set contents = 'text'"),
    ],
)
def test_settings_that_do_not_suit_texts_are_refused(folder: Path, settings: tuple[str, ...], message: str) -> None:
    with pytest.raises(UserError, match=message):
        plan_pretraining(request(folder, *settings), lambda reason: None)


def test_vocabulary_with_two_sides_is_refused(folder: Path, tmp_path: Path) -> None:
    data = {"pairs": str(folder / "pairs.tsv"), "joint": False, "vocabulary": {"kind": "char", "size": 400}}
    model = {"name": "cho2014", "embedding": 8, "hidden": 8, "maxout": 8}
    quick = {"max_steps": 1, "judge": "loss", "device": "cpu", "threads": 1}
    train(recipe_of({"data": data, "model": model, "train": quick}, "test"), tmp_path / "two")
    with pytest.raises(UserError, match="pre-training needs a joint one"):
        pretrain_model(request(folder, f"data.vocab_from='{tmp_path / 'two'}'", out=tmp_path / "run", budget="1"))
    assert not (tmp_path / "run").exists()


def test_texts_that_cannot_be_read_again_are_refused(folder: Path) -> None:
    with pytest.raises(OptionError, match="at least one file"):
        PretrainingRequest(texts=())
    with pytest.raises(UserError, match="-: can be read only once"):
        PretrainingRequest(texts=("-",))
    with pytest.raises(UserError, match=r"task:reverse has pairs"):
        saccade.pretrain("task:reverse", out=folder / "refused")
    with pytest.raises(UserError, match=r"no such file"):
        saccade.pretrain(folder / "missing.txt", out=folder / "refused")
    (folder / "empty.txt").touch()
    with pytest.raises(UserError, match=r"empty.txt:1: the file is empty; expected one text per line"):
        saccade.pretrain(folder / "empty.txt", out=folder / "refused")
    assert not (folder / "refused").exists()


@pytest.mark.slow
def test_pre_training_helps_where_pairs_are_few(tmp_path: Path) -> None:
    """300 pairs and 5,000 French texts: after the same updates on the pairs, a pre-trained model translates better."""
    write(tmp_path, texts=5_000, pairs=300)
    unseen = [*task("phrasebook-en-fr").pairs(200, seed=2, split="valid")]
    sizes = ("train.threads=1", "train.device=cpu", "model.preset=tiny")
    texts, pairs = tmp_path / "french.txt", tmp_path / "pairs.tsv"
    folder = saccade.pretrain(texts, pairs=str(pairs), out=tmp_path / "pretrained", budget="500", settings=sizes)
    loss = model_folder.load_config(folder).extra["best"]["loss"]
    assert loss < 1.6  # of an untrained model: ln 1,500 = 7.3

    def bleu(name: str, *settings: str, **options: Any) -> float:
        model = saccade.fit(pairs, out=tmp_path / name, budget="200", settings=(*sizes[:2], *settings), **options)
        texts = [translation.text for translation in model.translate([pair.source for pair in unseen])]
        return float(score(texts, [pair.target for pair in unseen])["bleu"])

    assert bleu("after", init_from=folder) > 10 + bleu("alone", sizes[2], model="vaswani2017", vocab_from=folder)
