"""When CTranslate2 searches, and the reason when it does not."""

import json
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
import torch

import saccade
from saccade import model_folder as stored
from saccade.decode import Constraints, Search, Translator
from saccade.decode.engines import choice
from saccade.decode.engines.choice import EngineChoice, EngineRequest
from saccade.decode.engines.comparison import FOLDER, RECORD, ExportRecord
from saccade.decode.engines.options import EngineOptions
from saccade.decode.options import DEFAULT_SEARCH, FileOptions, RerankingOptions
from saccade.errors import UserError
from saccade.ranges import OptionError

AUTO = EngineOptions()


def reason(translator: Translator, search: Search = DEFAULT_SEARCH, **request: object) -> str | None:
    options = EngineOptions(engine=request.pop("engine", "auto"))  # type: ignore[arg-type]
    return EngineChoice(translator).explain(EngineRequest(search, options, **request)).reason  # type: ignore[arg-type]


def test_a_transformer_on_the_cpu_uses_it(learnt: Translator) -> None:
    assert reason(learnt) is None
    assert str(EngineChoice(learnt).explain(EngineRequest(DEFAULT_SEARCH, AUTO))) == "CTranslate2: yes"
    assert EngineChoice(learnt).choose(EngineRequest(DEFAULT_SEARCH, AUTO)) is not None


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        (Search(sample=True), "random numbers"),
        (Search(beam=4, groups=2), "diverse beam"),
        (Search(coverage_penalty=0.2), "coverage"),
        (Search(precision="bf16"), "fp32, not in bf16"),
        (Search(no_repeat=3), "--no-repeat"),
        (Search(shortest=2), "--shortest"),
        (Search(shortest_ratio=0.5), "--shortest"),
        (Search(beam=200), "vocabulary"),
        (Search(beam=3, n_best=2), "often differ"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_search_that_differs_is_ours(learnt: Translator, search: Search, expected: str) -> None:
    assert expected in str(reason(learnt, search))
    engines = EngineChoice(learnt)
    assert engines.choose(EngineRequest(search, AUTO)) is None
    if search.n_best == 1:
        with pytest.raises(UserError, match=r"^--engine ctranslate2: .*leave the option out"):
            engines.choose(EngineRequest(search, EngineOptions(engine="ctranslate2")))


def test_further_translations_are_searched_by_it_on_request(learnt: Translator) -> None:
    request = EngineRequest(Search(beam=3, n_best=2), EngineOptions(engine="ctranslate2"))
    assert EngineChoice(learnt).choose(request) is not None


def test_other_reasons(learnt: Translator, speller: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    assert reason(learnt, engine="torch") == "--engine torch was given"
    assert "constraints" in str(reason(learnt, constrained=True))
    assert "tree" in str(reason(learnt, recorded=True))
    assert "not a Transformer" in str(reason(speller))
    monkeypatch.setattr(learnt, "device", torch.device("cuda"))
    assert "on cuda" in str(reason(learnt))


def test_a_missing_or_old_package_says_what_to_install(learnt: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(choice, "version", missing)
    assert reason(learnt) == "the package ctranslate2 is not installed: pip install 'saccade[ctranslate2]'"
    assert EngineChoice(learnt).choose(EngineRequest(DEFAULT_SEARCH, AUTO)) is None
    with pytest.raises(UserError, match=r"--int8: .*pip install 'saccade\[ctranslate2\]'"):
        EngineChoice(learnt).choose(EngineRequest(DEFAULT_SEARCH, EngineOptions(int8=True)))
    monkeypatch.setattr(choice, "version", lambda name: "4.8.0")
    assert "4.8.0 is older than 4.8.1" in str(reason(learnt))
    monkeypatch.setattr(choice, "version", lambda name: "4.10.0")
    assert reason(learnt) is None


def test_int8_and_torch_contradict_each_other() -> None:
    with pytest.raises(OptionError, match="without --engine torch"):
        EngineOptions(engine="torch", int8=True)


def test_the_options_of_a_file_decide(learnt: Translator, tmp_path: Path) -> None:
    def explain(options: FileOptions, constraints: Constraints, rerankers: RerankingOptions) -> str | None:
        request = EngineRequest.for_file(options, DEFAULT_SEARCH, constraints, rerankers, AUTO)
        return EngineChoice(learnt).explain(request).reason

    assert explain(FileOptions(), Constraints(), RerankingOptions()) is None
    assert "tree" in str(explain(FileOptions(tree=tmp_path / "tree"), Constraints(), RerankingOptions()))
    assert "words" in str(explain(FileOptions(), Constraints(include=("chat",)), RerankingOptions()))
    assert "differ" in str(explain(FileOptions(), Constraints(), RerankingOptions(mbr="chrf")))
    assert "differ" in str(explain(FileOptions(), Constraints(), RerankingOptions(channel=tmp_path)))


def test_changed_weights_are_converted_again(model_folder: Path) -> None:
    model = saccade.load(model_folder, device="cpu")
    text = "the cat sleeps"
    before, again = (model.engines.choose(EngineRequest(Search(), AUTO)) for _ in range(2))
    assert before is again
    (first,) = model.translate([text], beam=1)
    with torch.no_grad():
        for parameter in model.translator.model.parameters():
            parameter.mul_(-0.5)
    (changed,) = model.translate([text], beam=1)
    (plain,) = model.translate([text], beam=1, engine="torch")
    assert changed.log_prob == pytest.approx(plain.log_prob, abs=1e-3) != first.log_prob


@pytest.fixture
def folder(learnt: Translator, tmp_path: Path) -> Path:
    from saccade.decode import save

    save(tmp_path / "model", learnt.model, learnt.vocabularies)
    return tmp_path / "model"


def record(folder: Path, **values: object) -> None:
    (folder / FOLDER).mkdir(exist_ok=True)
    values = {"model_sha256": stored.stored_digest(folder), "sentences": 100, **values}
    ExportRecord(**values).write(folder / FOLDER)  # type: ignore[arg-type]


def explained(folder: Path, **options: object) -> str | None:
    request = EngineRequest(DEFAULT_SEARCH, EngineOptions(**options))  # type: ignore[arg-type]
    return saccade.load(folder, device="cpu").engines.explain(request).reason


def test_a_model_whose_translations_differed_is_ours_unless_requested(folder: Path) -> None:
    record(folder, identical=0.985)
    assert "only 98.5% of its translations were identical" in str(explained(folder))
    assert explained(folder, engine="ctranslate2") is None
    record(folder, identical=0.99)
    assert explained(folder) is None


def test_a_stale_or_damaged_comparison_says_nothing(folder: Path) -> None:
    record(folder, identical=0.5, model_sha256="0" * 64)
    assert explained(folder) is None
    record(folder, identical=0.5, int8=True)
    assert explained(folder) is None
    for content in ("", "[]", "{}", '{"model_sha256": 3}', json.dumps({"model_sha256": "a", "identical": 7})):
        (folder / FOLDER / RECORD).write_text(content, encoding="utf-8")
        assert explained(folder) is None
    (folder / FOLDER / RECORD).unlink()
    (folder / FOLDER / RECORD).symlink_to(folder / "config.json")
    assert explained(folder) is None
