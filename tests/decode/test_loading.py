"""A model folder is loaded unchanged, or refused with one line that names the problem."""

import importlib
import json
import resource
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import saccade
from saccade import config, model_folder, names
from saccade.data import TextPair
from saccade.decode import Ensemble, Search, Translator, load, load_vocabularies, save
from saccade.errors import UserError
from saccade.models import MODELS, Seq2Seq
from saccade.products import FastLinear
from saccade.text import Policy, Vocabularies

Untrained = Callable[..., Seq2Seq[Any, Any]]


@pytest.fixture
def folder(model_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model_folder, tmp_path / "model"))


@pytest.mark.parametrize("longest", ["long", [5], -1, 10**30, True])
def test_extra_values_are_checked(folder: Path, longest: object) -> None:
    change(folder, extra={"longest_trained": longest, "other": "kept as it is"})
    with pytest.raises(
        UserError, match=r"config\.json: extra\.longest_trained: .* given, expected a whole number from 1"
    ):
        load(folder)


def change(folder: Path, **changes: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text(encoding="utf-8")) | changes), encoding="utf-8")


@pytest.mark.parametrize("name", ["cho2014", "bahdanau2014", "vaswani2017"])
def test_a_loaded_model_is_bit_equal(
    name: str, untrained: Untrained, vocabularies: Vocabularies, tmp_path: Path
) -> None:
    model = untrained(name)
    save(tmp_path / "model", model, vocabularies, extra={"temperature": 1.5}, card="# Card\n")
    again = load(tmp_path / "model", device="cpu")
    assert type(again.model) is type(model) and again.model.config == model.config and not again.model.training
    assert again.vocabularies.hash == vocabularies.hash
    for key, tensor in model.state_dict().items():
        assert torch.equal(again.model.state_dict()[key], tensor)
    search = Search(beam=2, longest=5)
    assert again.translate(["the cat"], search) == Translator(model, vocabularies, "cpu").translate(["the cat"], search)
    assert model_folder.load_config(tmp_path / "model").extra == {"temperature": 1.5}
    save(tmp_path / "model", model, vocabularies)
    assert (tmp_path / "model" / "README.md").read_text(encoding="utf-8") == "# Card\n"


def test_a_loaded_model_has_fast_layers(model_folder: Path) -> None:
    assert any(isinstance(part, FastLinear) for part in load(model_folder).model.modules())


def test_saccade_load_returns_a_working_model(model_folder: Path) -> None:
    model = saccade.load(str(model_folder))
    assert isinstance(model, saccade.Model) and isinstance(model.translator, saccade.Translator)
    (result,) = model.translate(["the cat sleeps"], saccade.Search(beam=1))
    assert isinstance(result, saccade.Translation) and result.text == "le chat dort"


def test_two_vocabularies_are_saved_and_loaded(pairs: list[TextPair], tmp_path: Path) -> None:
    from saccade.models.cho2014 import Cho2014, Config

    two = Vocabularies.train(pairs, Policy(kind="char", size=400), joint=False)
    model = Cho2014(Config(embedding=4, hidden=4, maxout=4), len(two.source), len(two.target))
    save(tmp_path / "model", model, two)
    again = load(tmp_path / "model", device="cpu").vocabularies
    assert not again.joint and again.hash == two.hash
    (tmp_path / "model" / "source.json").rename(tmp_path / "source.json")
    with pytest.raises(UserError, match=r"source\.json"):
        load(tmp_path / "model")


def test_loading_leaves_the_random_numbers_of_the_caller_alone(model_folder: Path) -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    load(model_folder, device="cpu")
    assert torch.equal(torch.rand(3), expected)


def test_a_trusted_model_is_imported(
    vocabularies: Vocabularies, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_models.py").write_text(
        "from saccade.models.cho2014 import Cho2014\nclass Mine(Cho2014):\n    pass\nthing = print\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    my_models: Any = importlib.import_module("my_models")
    model = my_models.Mine(my_models.Mine.PRESETS["tiny"], len(vocabularies.source), len(vocabularies.target))
    save(tmp_path / "model", model, vocabularies)
    with names.trusting_code(True):
        assert model_folder.load_config(tmp_path / "model").model == "my_models:Mine"
    assert type(load(tmp_path / "model", device="cpu", trust_code=True).model) is my_models.Mine
    change(tmp_path / "model", model="my_models:thing")
    with pytest.raises(UserError, match="not a class of models"):
        load(tmp_path / "model", trust_code=True)
    sys.modules.pop("my_models")

    local: Any = type("Local", (my_models.Mine,), {"__module__": "__main__"})
    with pytest.raises(UserError, match="top level of a module"):
        save(tmp_path / "local", local(model.config, 300, 300), vocabularies)
    assert not list((tmp_path / "local").iterdir())  # all or nothing


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "empty").mkdir()
    for name, message in (("none", "no such folder"), ("file", "not a folder"), ("empty", "not a model folder")):
        with pytest.raises(UserError, match=message):
            load(tmp_path / name)


@pytest.mark.parametrize("lost", ["model.safetensors", "config.json", "tokeniser.model", "tokeniser.json"])
def test_an_incomplete_folder_is_refused(folder: Path, lost: str) -> None:
    content = (folder / lost).read_bytes()
    (folder / lost).write_bytes(content[: len(content) // 2])
    with pytest.raises(UserError, match=lost):
        load(folder)
    (folder / lost).unlink()
    with pytest.raises(UserError, match=lost):
        load(folder)


def test_an_unknown_format_version_is_refused(folder: Path) -> None:
    change(folder, format=99, saccade="9.9")
    with pytest.raises(UserError, match=r"format 99, written by Saccade 9\.9"):
        load(folder)


def test_an_unknown_model_or_setting_is_refused(folder: Path) -> None:
    change(folder, model="vaswani2018")
    with pytest.raises(UserError, match="did you mean 'vaswani2017'"):
        load(folder)
    settings = model_folder.load_config(folder).config
    change(folder, model="vaswani2017", config=settings | {"widht": 3})
    with pytest.raises(UserError, match=r"config\.json: config\.widht: unknown key; did you mean 'width'"):
        load(folder)


def test_weights_that_do_not_fit_are_refused(folder: Path) -> None:
    settings = model_folder.load_config(folder).config
    for changed in ({"width": 32}, {"decoder_layers": 3}, {"decoder_layers": 1}):
        change(folder, config=settings | changed)
        with pytest.raises(UserError, match="the weights do not fit") as raised:
            load(folder)
        assert "\n" not in str(raised.value) and str(folder) in str(raised.value)


def test_only_the_files_that_the_config_lists_are_read(folder: Path, pairs: list[TextPair]) -> None:
    expected = load(folder, device="cpu").vocabularies.hash
    Vocabularies.train(pairs, Policy(kind="char", size=400), joint=False).save(folder)
    (folder / "placeholders.json").write_text('{"kinds": ["("]}', encoding="utf-8")
    results = load(folder, device="cpu").vocabularies
    assert results.hash == expected and results.placeholders is None
    assert load_vocabularies(folder).hash == expected


EVIL = """
from pathlib import Path
Path("ran").touch()
def build(**dims): raise AssertionError
class Model: pass
"""


@pytest.mark.parametrize("place", ["model", "config"])
def test_a_folder_runs_no_code(
    place: str, untrained: Untrained, vocabularies: Vocabularies, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The module lies in the working directory, where one that a download brought along would be found."""
    folder = tmp_path / "model"
    save(folder, untrained("bahdanau2014"), vocabularies)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "evil_helper.py").write_text(EVIL, encoding="utf-8")
    settings = model_folder.load_config(folder).config | {"attention": "evil_helper:build"}
    change(folder, **{place: settings if place == "config" else "evil_helper:Model"})
    for read in (load, model_folder.load_config, model_folder.load_model, load_vocabularies):
        with pytest.raises(UserError, match=r"config\.json: .*'evil_helper:.*--trust-code.*trust_code=True") as refused:
            read(folder)
        assert "\n" not in str(refused.value)
    assert not (tmp_path / "ran").exists() and "evil_helper" not in sys.modules
    with pytest.raises((UserError, AssertionError)):
        load(folder, trust_code=True)
    assert (tmp_path / "ran").exists()
    sys.modules.pop("evil_helper")


def test_loading_changes_nothing_and_follows_no_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / "config.json").write_text("precious", encoding="utf-8")
    (folder / ".committed").symlink_to(tmp_path / "victim")
    with pytest.raises(UserError, match=r"\.committed: a symbolic link"):
        load(folder)
    assert [path.name for path in (tmp_path / "victim").iterdir()] == ["config.json"]


def test_loading_reads_the_committed_model_and_leaves_the_journal(
    folder: Path, untrained: Untrained, vocabularies: Vocabularies, tmp_path: Path
) -> None:
    save(folder / ".committed", untrained("cho2014"), vocabularies)
    before = sorted(folder.rglob("*"))
    assert load(folder, device="cpu").model.config == untrained("cho2014").config
    assert sorted(folder.rglob("*")) == before


@contextmanager
def little_memory() -> Iterator[None]:
    """Allow half a gigabyte more than the process has."""
    limits = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (512 << 20), limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


@pytest.mark.parametrize("name", MODELS)
def test_sizes_are_checked_before_memory_is_allocated(
    name: str, untrained: Untrained, vocabularies: Vocabularies, tmp_path: Path
) -> None:
    """Any whole number of the settings may be as large as one likes: the folder is refused, and nothing is built."""
    save(tmp_path, untrained(name), vocabularies)
    settings = model_folder.load_config(tmp_path).config
    sizes = [key for key, value in settings.items() if type(value) is int]
    assert sizes
    load(tmp_path, device="cpu")  # so that what is loaded once does not count
    with little_memory():
        for key in sizes:
            change(tmp_path, config=settings | {key: 10**6})
            with suppress(UserError):  # a size that this model does not use may be what it likes
                load(tmp_path, device="cpu")
            for size in (10**9, 10**18):
                change(tmp_path, config=settings | {key: size})
                with pytest.raises(UserError, match=r"do not fit|config\."):
                    load(tmp_path, device="cpu")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_weights_that_are_not_finite_are_refused(
    value: float, untrained: Untrained, vocabularies: Vocabularies, tmp_path: Path
) -> None:
    model = untrained("cho2014")
    with torch.no_grad():
        next(model.parameters())[-1, -1] = value
    save(tmp_path, model, vocabularies)
    with pytest.raises(UserError, match=r"model\.safetensors: .*not finite"):
        load(tmp_path)


def test_weights_of_another_type_are_refused(untrained: Untrained, vocabularies: Vocabularies, tmp_path: Path) -> None:
    model = untrained("cho2014")
    save(tmp_path, model, vocabularies)
    described = model_folder.load_config(tmp_path)
    for dtype in (torch.float16, torch.float64, torch.int32):
        model_folder.save_model(tmp_path, {key: x.to(dtype) for key, x in model.state_dict().items()}, described)
        with pytest.raises(UserError, match=rf"has type {dtype}, expected torch\.float32"):
            load(tmp_path)
    with pytest.raises(UserError, match=r"has type torch\.float64, expected torch\.float32; call model\.float\(\)"):
        save(tmp_path / "double", deepcopy(model).double(), vocabularies)
    assert not (tmp_path / "double").exists()


def test_buffers_that_are_not_stored_keep_their_values(vocabularies: Vocabularies, tmp_path: Path) -> None:
    """The slopes of ALiBi are not among the weights: a model that is loaded computes them anew."""
    model_class = MODELS["vaswani2017"]
    settings = replace(model_class.PRESETS["tiny"], encoder_attention="press2022")
    model = model_class(settings, len(vocabularies.source), len(vocabularies.target)).eval()
    save(tmp_path, model, vocabularies)
    again = load(tmp_path, device="cpu").model
    buffers = dict(model.named_buffers())
    assert any("slopes" in name for name in buffers)
    assert all(torch.equal(buffers[name], buffer) for name, buffer in again.named_buffers())


def test_settings_are_saved_and_loaded_unchanged(folder: Path) -> None:
    model = load(folder, device="cpu").model
    assert config.to_dict(model.config) == model_folder.load_config(folder).config


def test_an_ensemble_cannot_be_saved(learnt: Translator, tmp_path: Path) -> None:
    pair = Ensemble([learnt.model, learnt.model])
    with pytest.raises(UserError, match="save its members"):
        save(tmp_path / "both", pair, learnt.vocabularies)
    assert not (tmp_path / "both").exists()
