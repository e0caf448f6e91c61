"""The figures, the terminal output, the HTML and the JSON of one translation."""

import io
import json

from rich.console import Console

from saccade.decode import Translator
from saccade.decode.translator import LengthLimits


def test_plot_labels_the_words(learnt: Translator) -> None:
    from matplotlib import pyplot

    (result,) = learnt.translate(["the cat sleeps"])
    axes = result.plot()
    assert [label.get_text() for label in axes.get_xticklabels()] == ["the", "cat", "sleeps"]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["le", "chat", "dort"]
    pyplot.close()
    _, given = pyplot.subplots()
    assert result.plot(given) is given
    pyplot.close()


def test_show_prints_the_words(learnt: Translator) -> None:
    console = Console(record=True, width=80, file=io.StringIO())
    learnt.translate(["I see the house"])[0].show(console)
    shown = console.export_text()
    assert all(word in shown for word in ("I", "see", "the", "house", "我", "看", "见", "房", "子"))


def test_html_is_escaped_and_has_no_scripts(learnt: Translator) -> None:
    (result,) = learnt.translate(["<b>the cat</b>"])
    html = result._repr_html_()
    assert "<script" not in html and "&lt;b&gt;the cat" in html
    assert html.count("<tr>") == 1 + len(result.attention.target.words if result.attention else ())


def test_json_contains_the_aligned_words(learnt: Translator) -> None:
    (result,) = learnt.translate(["we see the black house"])
    read = json.loads(json.dumps(result.as_dict(), ensure_ascii=False, allow_nan=False))
    assert read["text"] == "我们看见黑房子" and read["target_words"] == list("我们看见黑房子")
    assert read["source_words"] == ["we", "see", "the", "black", "house"]
    assert frozenset((i, j) for i, j in read["alignment"]) == result.alignment
    assert read["unit"] == result.unit == "word"
    assert len(read["token_log_probs"]) == len(read["tokens"]) + 1


def test_translations_compare_by_their_values(learnt: Translator) -> None:
    first, second = learnt.translate(["it sleeps", "it sleeps"], weights=True)
    assert first == second
    assert "attend" not in repr(first)


def test_a_model_of_characters_shows_letters(speller: Translator) -> None:
    from matplotlib import pyplot

    (result,) = speller.translate(["badge"])
    assert result.text == "BADGE" and result.unit == "piece"
    assert result.alignment == {(place, place) for place in range(5)}
    assert result.weights is not None and result.weights.shape == (5, 5)
    axes = result.plot()
    assert [label.get_text() for label in axes.get_xticklabels()] == [*"badge"]
    assert [label.get_text() for label in axes.get_yticklabels()] == [*"BADGE"]
    pyplot.close()
    console = Console(record=True, width=80, file=io.StringIO())
    result.show(console)
    assert console.export_text().splitlines()[0].split() == [*"badge"]
    assert result._repr_html_().count("<tr>") == 1 + 5
    read = result.as_dict()
    assert (read["unit"], read["source_pieces"], read["target_pieces"]) == ("piece", [*"badge"], [*"BADGE"])
    assert read["alignment"] == [[place, place] for place in range(5)]


def test_unit_can_be_words(speller: Translator) -> None:
    (result,) = speller.translate(["badge"])
    console = Console(record=True, width=80, file=io.StringIO())
    result.show(console, by="word")
    assert console.export_text().split()[0] == "badge"
    read = result.as_dict(by="word")
    assert (read["unit"], read["source_words"], read["alignment"]) == ("word", ["badge"], [[0, 0]])


def test_a_single_word_in_a_part_keeps_its_pieces(speller: Translator) -> None:
    speller.limits = LengthLimits(words=1)
    try:
        (result,) = speller.translate(["abc. Def."], too_long="split")
    finally:
        speller.limits = LengthLimits()
    assert len(result.parts) == 2 and result.attention is not None
    assert result.attention.units()[0] == (*"abc", "<unk>", *"Def", "<unk>")
