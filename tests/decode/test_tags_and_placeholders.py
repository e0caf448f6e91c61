"""A tag selects the language; placeholders are restored, or the loss is noted."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch.nn.functional import cross_entropy

from saccade.cli import main
from saccade.data import TextPair
from saccade.data.batching import Batch
from saccade.decode import Search, Translator, load, save
from saccade.models import MODELS
from saccade.text import PAD, Placeholders, Policy, Vocabularies
from saccade.text.tokeniser import SYMBOLS

LINKED = [TextPair(f"see https://x.org/{n} now", f"voir https://x.org/{n}") for n in range(8)]
PAIRS = [
    TextPair("<fr> the cat", "le chat"),
    TextPair("<de> the cat", "die Katze"),
    *(TextPair(f"<fr> {pair.source}", pair.target) for pair in LINKED),
]


@pytest.fixture(scope="module")
def learnt() -> Translator:
    texts = [TextPair(pair.source[5:], pair.target) for pair in PAIRS]
    vocabularies = Vocabularies.train(
        texts, Policy(kind="bpe", size=330), tags=["<fr>", "<de>"], placeholders=Placeholders(("url",))
    )
    torch.manual_seed(1)
    kind = MODELS["vaswani2017"]
    small = {"width": 32, "inner": 64, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0}
    model = kind(replace(kind.PRESETS["tiny"], **small), 330, 330).train()
    sources, targets = zip(*map(vocabularies.encode, PAIRS), strict=True)
    batch = Batch.of(sources, targets, range(len(PAIRS)))
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for _ in range(80):
        logits = model(batch.source, batch.source_readable, batch.target_in)
        optimiser.zero_grad()
        cross_entropy(logits.flatten(0, 1), batch.target_out.flatten(), ignore_index=PAD).backward()
        optimiser.step()
    return Translator(model.eval(), vocabularies, "cpu")


def test_a_tag_selects_the_language_and_is_not_aligned(learnt: Translator) -> None:
    french, german = learnt.translate(["<fr> the cat", "<de> the cat"])
    assert (french.text, german.text) == ("le chat", "die Katze")
    assert french.attention is not None and french.source == "<fr> the cat"
    assert french.attention.source.words == ("the", "cat") and french.attention.source_tokens[0] == "<fr>"
    assert french.weights is not None and french.weights.shape == (2, 2)


def test_a_placeholder_is_restored_by_a_loaded_model(learnt: Translator, tmp_path: Path) -> None:
    save(tmp_path / "model", learnt.model, learnt.vocabularies)
    loaded = load(tmp_path / "model", device="cpu")
    symbol = next(iter(learnt.vocabularies.mask(LINKED[3].source).shown or {}))
    same_number = next(  # of sixteen: of these the model has learnt eight
        f"see https://never.seen/{n} now"
        for n in range(99)
        if symbol in (learnt.vocabularies.mask(f"see https://never.seen/{n} now").shown or {})
    )
    (result,) = loaded.translate([f"<fr> {same_number}"])
    assert result.text == f"voir {same_number.split()[1]}" and result.notes == ()
    assert not set("".join(result.tokens)) & set(SYMBOLS)
    assert result.attention is not None
    assert result.attention.source.words[:5] == ("see", "https", ":", "/", "/")
    assert result.attention.target.words[:5] == ("voir", "https", ":", "/", "/")
    assert result.attention.words().shape == (len(result.attention.target.words), len(result.attention.source.words))
    (forced,) = loaded.attend([f"<fr> {same_number}"], [result.text])
    assert forced.target.words == result.attention.target.words


def test_a_lost_or_invented_placeholder_is_noted_and_never_shown(learnt: Translator) -> None:
    (lost,) = learnt.translate(["<de> the cat https://a.org"])
    assert lost.notes == () or "'https://a.org' is not in the translation" in lost.notes
    drawn = learnt.translate(["<fr> the cat"] * 30, Search(sample=True, temperature=5.0, longest=30))
    assert any("that the source does not have" in note for each in drawn for note in each.notes)
    assert all(not set(each.text + "".join(each.tokens)) & set(SYMBOLS) for each in drawn)
    assert drawn[0].as_dict()["notes"] == list(drawn[0].notes)


def test_tags_and_placeholders_on_the_command_line(
    learnt: Translator, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    save(tmp_path / "model", learnt.model, learnt.vocabularies)
    (tmp_path / "lines").write_text("the cat\n\nsee https://x.org/3 and https://x.org/4 now\n")

    def run(*options: str) -> tuple[int, str, str]:
        command = [
            "saccade",
            "translate",
            str(tmp_path / "model"),
            str(tmp_path / "lines"),
            "--device",
            "cpu",
            *options,
        ]
        monkeypatch.setattr("sys.argv", command)
        with pytest.raises(SystemExit) as ended:
            main()
        return (int(ended.value.code or 0), *capsys.readouterr())

    code, out, err = run("--tag", "<de>", "--beam", "1")
    assert code == 0 and out.startswith("die Katze\n\n") and len(out.splitlines()) == 3
    assert "saccade: line 3: 'https://x.org/" in err and "is not in the translation" in err
    code, _, err = run("--tag", "<it>")
    assert code == 2 and "--tag <it>: the tags that the model was trained with are <fr>, <de>" in err
