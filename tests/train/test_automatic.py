"""A recipe chosen by the data, the hardware and the time, with its reasons."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from saccade import config
from saccade.data import PairFiles, TextPair
from saccade.errors import UserError
from saccade.model_folder import ModelConfig
from saccade.models import MODELS, build_model
from saccade.train.automatic import choose_recipe
from saccade.train.data_options import Data
from saccade.train.facts import Facts
from saccade.train.recipe import Recipe, load_recipe
from saccade.train.training_options import Training
from saccade.train.translation import train

DATA = Data(pairs="pairs.tsv")
SENTENCES = Facts(pairs=3_000, mean_words=9.0, mean_characters=90.0, alphabet=60, cuda=False)


def parameters(recipe: Recipe) -> int:
    size = recipe.data.vocabulary.size
    return sum(p.numel() for p in build_model(recipe.model, recipe.settings, size, size).parameters())


@pytest.mark.parametrize("cuda", [False, True])
def test_sizes_grow_with_the_data(cuda: bool) -> None:
    chosen = [
        choose_recipe(DATA, replace(SENTENCES, pairs=pairs, cuda=cuda)).recipe
        for pairs in (500, 5_000, 50_000, 1_000_000)
    ]
    for smaller, larger in pairwise(chosen):
        assert smaller.data.vocabulary.size <= larger.data.vocabulary.size
        assert smaller.train.tokens <= larger.train.tokens
        assert (smaller.train.max_steps or 0) <= (larger.train.max_steps or 0)
        if smaller.model == larger.model:
            assert parameters(smaller) <= parameters(larger)
    assert chosen[0].data.vocabulary.size < chosen[-1].data.vocabulary.size
    assert chosen[-1].model == "vaswani2017"


@pytest.mark.parametrize("model", [None, "bahdanau2014"])
@pytest.mark.parametrize("pairs", [300, 800, 3_000, 29_000])
def test_small_data_gets_thousands_of_updates(model: str | None, pairs: int) -> None:
    for cuda in (False, True):
        train = choose_recipe(DATA, replace(SENTENCES, pairs=pairs, cuda=cuda), model).recipe.train
        assert train.max_epochs is None and (train.max_steps or 0) >= 2_000
        assert train.tokens == 250 or pairs * 15 / train.batch_tokens > 40  # updates in an epoch


def test_tens_of_thousands_of_sentences_get_thousands_of_tokens() -> None:
    assert choose_recipe(DATA, replace(SENTENCES, pairs=29_000)).recipe.data.vocabulary.size == 8_000
    assert 2_000 <= choose_recipe(DATA, replace(SENTENCES, pairs=5_000)).recipe.data.vocabulary.size <= 4_000


def test_an_rnn_on_a_gpu_has_millions_of_parameters() -> None:
    recipe = choose_recipe(DATA, replace(SENTENCES, pairs=29_000, cuda=True), "bahdanau2014").recipe
    assert parameters(recipe) > 5_000_000


def test_two_alphabets_get_two_vocabularies() -> None:
    chinese = [TextPair("我爱你。", "I love you."), TextPair("你好！", "Hello!")]
    german = [TextPair("Ich liebe dich.", "I love you."), TextPair("Hallo!", "Hello!")]
    assert Facts.of(chinese, cuda=False).overlap < 0.1 < 0.4 < Facts.of(german, cuda=False).overlap
    chosen = choose_recipe(DATA, replace(SENTENCES, overlap=0.0))
    assert not chosen.recipe.data.joint and "two alphabets" in "\n".join(chosen.reasons)
    assert choose_recipe(DATA, SENTENCES).recipe.data.joint


@pytest.mark.parametrize("facts", [{"overlap": 0.0}, {"mean_words": 1.0, "target_words": 40}])
def test_training_in_both_directions_gets_one_vocabulary(facts: dict[str, Any]) -> None:
    assert not choose_recipe(DATA, replace(SENTENCES, **facts)).recipe.data.joint
    both = choose_recipe(replace(DATA, both_directions=2), replace(SENTENCES, **facts)).recipe.data
    assert both.joint and both.target_vocabulary is None and both.both_directions == 2


def test_short_time_on_a_cpu_gives_smaller_models_and_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a machine that needs 0.1 s for 600 tokens: the shorter the time, the smaller the model and its batches."""

    def pace(model: str, settings: Any, train: Training, **_: object) -> float:
        layers = getattr(settings, "encoder_layers", 1.5)
        return 10 / (train.batch_tokens / 600 * layers / 2)

    monkeypatch.setattr("saccade.train.automatic.updates_per_second", pace)
    facts = replace(SENTENCES, pairs=23_000, mean_characters=40.0)
    hours, minutes, seconds = (choose_recipe(DATA, facts, minutes=time).recipe for time in (120.0, 5.0, 0.5))
    usual = choose_recipe(DATA, facts).recipe
    assert hours == replace(usual, train=replace(usual.train, max_minutes=120.0))
    assert (minutes.model, minutes.settings.encoder_layers, minutes.train.tokens) == ("vaswani2017", 2, 1_000)
    assert (seconds.model, seconds.settings.encoder_layers, seconds.train.tokens) == ("vaswani2017", 2, 400)
    for recipe in (minutes, seconds):
        assert recipe.settings.dropout == 0.0  # few epochs: nothing is learnt by heart
        assert recipe.train.lr > usual.train.lr
        assert recipe.train.judge == "loss" and usual.train.judge == "bleu"
        updates = 60 * (recipe.train.max_minutes or 0) * 0.85 * pace(recipe.model, recipe.settings, recipe.train)
        assert recipe.train.ema is not None and 1 / (1 - recipe.train.ema) <= max(20, updates / 8)
        assert recipe.train.warmup <= max(20, updates / 8)
        assert recipe.train.check_every <= max(20, updates / 3)
    fewer = choose_recipe(DATA, replace(facts, pairs=16_000), minutes=1.0).recipe
    assert fewer.settings.dropout == 0.0 and fewer.train.lr <= usual.train.lr  # larger steps suit many pairs only


def test_little_time_for_many_pairs_gives_a_smaller_vocabulary(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tokens that are seldom read cost time and are not learnt."""
    monkeypatch.setattr("saccade.train.automatic.updates_per_second", lambda *_, **__: 5.0)
    facts = replace(SENTENCES, pairs=200_000)
    hurried, patient = (choose_recipe(DATA, facts, minutes=minutes) for minutes in (5.0, 600.0))
    assert patient.recipe.data.vocabulary.size == 16_000 and patient.recipe.data.vocab_lines is None
    assert 1_000 < hurried.recipe.data.vocabulary.size < 5_000 and hurried.recipe.data.vocab_lines == 100_000
    assert "because there is little time" in hurried.reasons[1]
    foreign = choose_recipe(DATA, replace(facts, overlap=0.0), minutes=5.0)
    assert "for each side: two alphabets, because there is little time" in foreign.reasons[1]
    few = choose_recipe(DATA, replace(facts, pairs=800), minutes=5.0).recipe.data
    assert few.vocabulary == choose_recipe(DATA, replace(facts, pairs=800)).recipe.data.vocabulary
    assert few.vocab_lines is None


def gpu(**changes: Any) -> Facts:
    return replace(SENTENCES, pairs=29_000, cuda=True, **changes)


def test_a_gpu_regularises_by_r_drop_and_says_so() -> None:
    recipe, reasons = choose_recipe(DATA, gpu())
    assert recipe.train.r_drop == 5 and recipe.settings.encoder_layers == 6
    assert any(reason.startswith("R-Drop with weight 5") for reason in reasons)
    assert choose_recipe(DATA, gpu(), "bahdanau2014").recipe.train.r_drop == 5
    words = gpu(mean_words=1.0, mean_target_words=6.0, target_words=40)
    assert choose_recipe(DATA, words, "bahdanau2014").recipe.train.r_drop == 0
    assert choose_recipe(DATA, replace(SENTENCES, pairs=29_000)).recipe.train.r_drop == 0


@pytest.mark.parametrize(
    "settings", [["train.guided=0.5"], ["train.simcut=3"], ["model.attention=xu2015"]], ids=lambda given: given[0]
)
def test_r_drop_gives_way_to_what_it_does_not_go_with(settings: list[str]) -> None:
    assert choose_recipe(DATA, gpu(), "bahdanau2014", settings=settings).recipe.train.r_drop == 0


def test_other_settings_of_the_user_keep_r_drop() -> None:
    settings = ["model.attention=luong2015-local-p-general", "train.word_dropout=0.1"]
    recipe = choose_recipe(DATA, gpu(), "bahdanau2014", settings=settings).recipe
    assert recipe.train.r_drop == 5 and recipe.settings.attention == "luong2015-local-p-general"


def test_the_time_on_a_gpu_decides_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU that makes 20 updates per second, or 10 with R-Drop: the better a plan, the more epochs it needs."""
    monkeypatch.setattr(
        "saccade.train.automatic.updates_per_second", lambda *given, **_: 10.0 if given[2].r_drop else 20.0
    )
    hour, half, minute = (choose_recipe(DATA, gpu(), minutes=time) for time in (60.0, 4.0, 1.0))
    assert [chosen.recipe.train.r_drop for chosen in (hour, half, minute)] == [5, 0, 0]
    sizes = [(chosen.recipe.settings.width, chosen.recipe.settings.encoder_layers) for chosen in (hour, half, minute)]
    assert sizes == [(256, 6), (256, 4), (128, 2)]
    assert any("suffice" in reason for reason in hour.reasons)
    day = choose_recipe(DATA, gpu(), minutes=1440.0)
    assert any("extrapolated" in reason for reason in day.reasons)
    assert not any("extrapolated" in reason for reason in hour.reasons)


def test_a_minute_on_a_gpu_is_not_spent_on_graphs_and_validations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("saccade.train.automatic.updates_per_second", lambda *_, **__: 150.0)
    (minute, reasons), (minutes, _) = (choose_recipe(DATA, gpu(), minutes=time) for time in (1.0, 5.0))
    assert any("little time for validations and for many shapes" in reason for reason in reasons)
    assert (minute.data.batch_shapes, minutes.data.batch_shapes) == (16, Data(pairs="pairs.tsv").batch_shapes)
    assert minute.train.r_drop == minutes.train.r_drop == 5
    updates = 60 * 0.85 * 150
    assert updates / minute.train.check_every == pytest.approx(5, abs=0.1) and minute.train.judge_on < 1000
    assert minutes.train.check_every == minutes.train.max_steps // 20 and minutes.train.judge_on == 1000


def test_many_pairs_get_r_drop_only_for_many_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    def pace(name: str, settings: Any, train: Training, **_: object) -> float:
        return 36_000 / settings.width / (2 if train.r_drop else 1)

    monkeypatch.setattr("saccade.train.automatic.updates_per_second", pace)
    facts = replace(gpu(), pairs=164_000, mean_characters=70.0)
    chosen = [choose_recipe(DATA, facts, minutes=time).recipe for time in (8.0, 2.5, 1.5, 0.5)]
    plans = [(recipe.settings.width, recipe.train.r_drop) for recipe in chosen]
    assert plans == [(512, 5), (256, 5), (512, 0), (256, 0)]


@pytest.mark.parametrize("pairs", [10_000, 16_000])
def test_few_pairs_get_an_rnn_on_a_gpu_and_a_transformer_on_a_cpu(pairs: int) -> None:
    few = replace(SENTENCES, pairs=pairs)
    on_gpu, on_cpu = (choose_recipe(DATA, replace(few, cuda=cuda)).recipe.model for cuda in (True, False))
    assert (on_gpu, on_cpu) == ("bahdanau2014", "vaswani2017")


def test_r_drop_for_fewer_pairs_comes_with_post_norm_and_a_longer_warm_up() -> None:
    chosen = choose_recipe(DATA, gpu(), updates=8_000)
    assert chosen.recipe.settings.norm == "post" and chosen.recipe.train.warmup == 2_000
    assert any("post-norm" in reason for reason in chosen.reasons)
    plain = choose_recipe(DATA, gpu(), updates=1_600).recipe
    assert plain.settings.norm == "pre" and plain.train.r_drop == 0 and plain.train.warmup == 200


@pytest.mark.parametrize("pairs", [800, 5_000])
def test_few_sentences_get_r_drop_on_a_cpu_if_there_is_time(monkeypatch: pytest.MonkeyPatch, pairs: int) -> None:
    """With a machine that makes 12 updates per second, or 6 with R-Drop"""
    monkeypatch.setattr(
        "saccade.train.automatic.updates_per_second", lambda *given, **_: 6.0 if given[2].r_drop else 12.0
    )
    facts = replace(SENTENCES, pairs=pairs)
    hour, minutes = (choose_recipe(DATA, facts, minutes=time).recipe for time in (60.0, 3.0))
    assert hour.model == "vaswani2017" and hour.settings.encoder_layers == 3 and hour.train.r_drop == 5
    assert minutes.train.r_drop == 0
    assert choose_recipe(DATA, facts).recipe.train.r_drop == 0  # nobody said that there is time
    half = choose_recipe(DATA, facts, minutes=35.0).recipe.train  # not for all updates, but for many epochs
    assert half.r_drop == 5 and half.judge == "bleu" and (half.max_steps or 0) / half.check_every >= 18


def test_a_budget_of_updates_decides_the_plan_and_its_schedule() -> None:
    many, few = (choose_recipe(DATA, gpu(), updates=updates).recipe for updates in (8_000, 300))
    assert many.train.r_drop == 5 and many.train.warmup == 2000
    assert few.train.r_drop == 0 and few.train.warmup <= 300 // 8 and few.settings.dropout == 0.1
    assert few.train.ema is not None and few.train.ema < 0.97


def test_the_reasons_name_every_choice() -> None:
    reasons = "\n".join(choose_recipe(DATA, SENTENCES).reasons)
    for part in ("3,000 pairs of about 9 source words", "vocabulary", "vaswani2017: in", "dropout", "the CPU"):
        assert part in reasons
    large = choose_recipe(DATA, replace(SENTENCES, pairs=20_000, cuda=True))
    assert "vaswani2017: enough pairs" in "\n".join(large.reasons) and "CUDA" in large.reasons[-1]


def test_single_words_become_characters() -> None:
    chosen = choose_recipe(DATA, replace(SENTENCES, mean_words=1.2))
    assert chosen.recipe.data.vocabulary.kind == "char" and "characters" in "\n".join(chosen.reasons)


WORDS = replace(SENTENCES, pairs=800, mean_words=1.0, mean_characters=22.0, mean_target_words=6.0, target_words=60)


def test_pronunciation_is_monotonic() -> None:
    chosen = choose_recipe(DATA, WORDS)
    assert chosen.recipe.model == "wu2019" and "the order of their letters" in "\n".join(chosen.reasons)
    assert not chosen.recipe.data.target_vocabulary.byte_fallback  # phones are a closed set
    assert chosen.recipe.data.vocabulary.byte_fallback  # letters are not
    train = chosen.recipe.train
    assert train.judge == "exact" and train.max_steps == 4 * train.check_every
    assert train.r_drop == 5.0 and chosen.recipe.settings.layers == 2
    assert choose_recipe(DATA, replace(WORDS, pairs=10_000)).recipe.settings == chosen.recipe.settings
    many = choose_recipe(DATA, replace(WORDS, pairs=10_000, cuda=True)).recipe
    assert many.model == "wu2019" and many.settings.hidden == 512 and many.train.precision == "fp32"
    assert choose_recipe(DATA, replace(WORDS, target_words=400)).recipe.model == "bahdanau2014"


def test_the_time_is_measured_with_as_many_tokens_as_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """A vocabulary of characters or of phones has far fewer than its maximum."""
    sizes = []

    def pace(*_: object, vocabulary: int, **__: object) -> float:
        sizes.append(vocabulary)
        return 10.0

    monkeypatch.setattr("saccade.train.automatic.updates_per_second", pace)
    for facts, size in ((WORDS, 64), (replace(WORDS, target_words=400), 260 + WORDS.alphabet)):
        sizes.clear()
        choose_recipe(DATA, facts, minutes=5.0)
        assert set(sizes) == {size}


def test_the_vocabulary_is_larger_than_the_alphabet() -> None:
    assert choose_recipe(DATA, replace(SENTENCES, pairs=300, alphabet=2500)).recipe.data.vocabulary.size > 260 + 2500


def test_a_requested_model_is_used() -> None:
    for name in MODELS:
        for facts in (SENTENCES, replace(SENTENCES, pairs=200_000, cuda=True)):
            chosen = choose_recipe(DATA, facts, name).recipe
            usual = 0.4 if name == "wu2019" else 0.3 if facts.pairs > 5_000 else 0.2
            assert chosen.model == name and chosen.settings.dropout == usual
    with pytest.raises(UserError, match="did you mean 'cho2014'"):
        choose_recipe(DATA, SENTENCES, "cho2015")


def test_embeddings_are_tied_over_one_vocabulary_only() -> None:
    assert choose_recipe(DATA, SENTENCES, "vaswani2017").recipe.settings.tie == "all"
    assert choose_recipe(replace(DATA, joint=False), SENTENCES, "vaswani2017").recipe.settings.tie == "target"


def test_a_model_trained_further_keeps_its_settings() -> None:
    settings = config.to_dict(MODELS["luong2015"].PRESETS["tiny"])
    usual = choose_recipe(DATA, SENTENCES, "luong2015").recipe
    chosen = choose_recipe(DATA, SENTENCES, initial=ModelConfig(model="luong2015", config=settings))
    assert chosen.recipe.settings == MODELS["luong2015"].PRESETS["tiny"] and chosen.recipe.data == DATA
    assert chosen.recipe.train == replace(usual.train, lr=usual.train.lr * 0.3)
    assert "luong2015 trained further" in "\n".join(chosen.reasons)


def test_facts_are_counted_from_the_pairs() -> None:
    facts = Facts.of([TextPair("a bb", "c"), TextPair("dd", "ee")] * 15_000, cuda=False)
    lengths = {"mean_words": 1.5, "mean_characters": 4.5, "mean_target_words": 1.0}
    assert facts == Facts(pairs=30_000, **lengths, target_words=2, alphabet=6, cuda=False, overlap=0.0)


@pytest.mark.parametrize(
    ("task", "kind", "joint", "words"),
    [
        ("dates", "char", False, (1, 20)),
        ("numbers-fr", "char", False, (1, 9)),
        ("addition", "char", True, (1, 4)),
        ("reverse", "word", True, (3, 12)),
        ("phrasebook-en-fr", "unigram", True, (3, 20)),
    ],
)
def test_a_task_decides_its_vocabulary_and_lengths(task: str, kind: str, joint: bool, words: tuple[int, int]) -> None:
    data = Data(pairs=f"task:{task}")
    facts = Facts.of_data(data, cuda=False)
    recipe = choose_recipe(data, facts).recipe
    assert facts.pairs == data.count
    assert (recipe.data.vocabulary.kind, recipe.data.joint, recipe.data.words) == (kind, joint, words)
    by_rule = not task.startswith("phrasebook")
    assert facts.rule == by_rule == (recipe.settings.dropout == 0) == (recipe.train.smoothing == 0)
    assert choose_recipe(replace(data, words=(5, 6)), facts).recipe.data.words == (5, 6)


def test_a_finite_task_is_counted() -> None:
    data = Data(pairs="task:g2p", count=10**9)
    facts = Facts.of_data(data, cuda=False)
    assert 110_000 < facts.pairs < 120_000 and not facts.rule
    assert Facts.of_data(replace(data, count=500), cuda=False).pairs == 500
    recipe = choose_recipe(data, facts).recipe
    assert recipe.settings.dropout > 0
    assert recipe.model == "wu2019" and recipe.data.target_vocabulary.kind == "word"  # as for words in a file


def test_a_chosen_recipe_trains(pairs_file: Path, tmp_path: Path) -> None:
    files = PairFiles(pairs_file)
    chosen = choose_recipe(Data(pairs=str(pairs_file)), Facts.of(files, cuda=False)).recipe
    short = replace(chosen, train=replace(chosen.train, max_steps=2, judge="loss", threads=1, device="cpu"))
    outcome = train(short, tmp_path / "run")
    assert outcome.finished and outcome.step == 2
    assert load_recipe(tmp_path / "run" / "recipe.toml") == short


def test_single_words_are_judged_by_exact_matches() -> None:
    phones = [TextPair("cat", "K AE1 T"), TextPair("dog", "D AO1 G")] * 100
    recipe, reasons = (chosen := choose_recipe(DATA, Facts.of(phones, cuda=False))).recipe, "\n".join(chosen.reasons)
    assert recipe.train.judge == "exact" and "exact matches" in reasons
    assert recipe.data.vocabulary.kind == "char" and recipe.data.target_vocabulary is not None
    assert recipe.data.target_vocabulary.kind == "word" and not recipe.data.joint and "symbols" in reasons
    spelling = choose_recipe(DATA, Facts.of([TextPair("recieve", "receive")], cuda=False))
    assert spelling.recipe.train.judge == "exact" and spelling.recipe.data.target_vocabulary is None
    assert "1 pair of" in spelling.reasons[0] and choose_recipe(DATA, SENTENCES).recipe.train.judge == "bleu"
    large = choose_recipe(DATA, replace(SENTENCES, pairs=29_000)).reasons
    assert any(reason.startswith("width 128, inner 256, 4 heads, 3 + 3 layers, dropout") for reason in large)
