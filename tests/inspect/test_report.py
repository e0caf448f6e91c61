from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from outline import Outline

from saccade.errors import UserError
from saccade.inspect.cells import shown
from saccade.inspect.chart import Interval
from saccade.inspect.page_style import PAGE_STYLE
from saccade.inspect.report import ComparedSentence, Panel, Report, Target
from saccade.provenance import provenance

PROVENANCE = provenance(seed=1)


def full(word: str = "word") -> Report:
    report = Report(word)
    report.text(word, f"{word}\n\n{word}")
    report.table(word, [word, "BLEU"], [[word, 96.83], ["none", None]], note=word)
    report.targets(word, [Target(claim=word, reached=0.0763, met=True), Target(claim="AER", reached=word, met=False)])
    report.lines(
        word, [word, "b"], {word: [1.0, None], "a second line": [3.0, 4.0]}, x=word, y=word, counts=[5, 6], note=word
    )
    report.heatmap(word, [[0.25, 0.75]], [word, "b"], [word], note=word)
    report.intervals(word, {word: Interval(1.0, 0.5, 2.0, (1.0,))}, x=word, note=word)
    seen = Panel(name=word, score=word, text=word, weights=[[1.0]], source=[word], target=[word])
    blind = Panel(name=word, score=word, text=word, reason=word)
    report.sentences(word, [ComparedSentence(source=word, reference=word, panels=[seen, blind])], note=word)
    report.table(word, [word], [["93.1 ± 0.4"], ["+1"]], folded=word)
    report.provenance(word, {**PROVENANCE, "command": word, "more": {word: word}})
    return report


def test_the_page_is_complete_and_loads_nothing() -> None:
    page = full().html()
    outline = Outline(page)
    assert not {"script", "link", "img", "iframe", "base"} & set(outline.tags)
    assert not [name for name, _ in outline.attributes if name in ("src", "href", "srcset") or name.startswith("on")]
    assert not [mark for mark in ("http://", "https://", "url(", "@import") if mark in page]
    assert "default-src 'none'" in page
    assert "prefers-color-scheme:dark" in page
    assert {"svg", "table", "dl", "details"} <= set(outline.tags)


def test_the_page_has_all_content() -> None:
    outline = Outline(full("déjà 我").html())
    for expected in ("déjà 我", "96.83", "0.0763", "✓ met", "✗ not met", "n = 5", "–", "75"):
        assert expected in outline.text
    assert ("title", "déjà 我 ← b: 0.7500") in outline.attributes
    assert outline.tags.count("section") == 9
    assert outline.tags.count("article") == 1 and ("class", "heat") in outline.attributes


def test_a_column_of_formatted_numbers_is_right_aligned() -> None:
    report = Report("t")
    report.table("h", ["a", "b"], [["93.1 ± 0.4 [92, 94]", "2 of 3"], ["−1.5", "two"], [None, "4"]])
    assert report.html().count("<td class=number>") == 3


@settings(deadline=None, max_examples=60)
@given(
    st.text(min_size=1, max_size=12)
    | st.sampled_from(["</style>", "<script>", '"><b onclick="', "$title", "&lt;", "\ud800"])
)
def test_no_text_can_change_the_page(word: str) -> None:
    page = full(word.replace("\n", " ")).html()
    assert Outline(page).tags == Outline(full().html()).tags
    page.encode("utf-8")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0, "0"),
        (96.834, "96.83"),
        (0.07634, "0.07634"),
        (1e-6, "0.0000"),
        (1234567.8, "1234568"),
        (3, "3"),
    ],
)
def test_numbers_are_short_and_without_exponents(value: float | None, text: str) -> None:
    assert shown(value) == text


def test_tokens_are_isolated_and_have_no_language() -> None:
    report = Report("t")
    report.heatmap("h", [[1.0]], ["שלום"], ["مرحبا"])
    assert '<bdi lang="">שלום</bdi>' in report.html()
    assert '<bdi lang="">مرحبا</bdi>' in report.html()


def test_shapes_are_checked() -> None:
    report = Report("t")
    with pytest.raises(ValueError, match=r"\(1, 2\), got \(2, 1\)"):
        report.heatmap("h", np.zeros((2, 1)), ["a", "b"], ["c"])
    with pytest.raises(ValueError, match="row 1 of 'h' must have 2 cells, got 1"):
        report.table("h", ["a", "b"], [[1, 2], [1]])


def test_save_replaces_the_file_atomically(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")
    report = full("我")
    report.save(path)
    assert path.read_text(encoding="utf-8") == report.html()
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_save_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")

    def full_disk(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full_disk)
    with pytest.raises(UserError, match=r"report\.html: No space left on device while writing"):
        Report("t").save(path)
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="cannot write the report: No such file or directory"):
        Report("t").save(tmp_path / "none" / "report.html")


def test_a_chinese_report_has_chinese_words_around_the_given_ones() -> None:
    report = Report("目标", "zh")
    report.targets("目标", [Target(claim="甲", reached=1.0, met=True), Target(claim="乙", reached=0.0, met=False)])
    report.lines("图", ["1–5"], {"甲": [1.0]}, x="词数", y="BLEU", beyond=[True])
    report.intervals("区间", {"甲": Interval(1.0, 0.5, 2.0)}, x="BLEU")
    report.heatmap("热力图", [[1.0]], ["我"], ["爱"])
    report.sentences("句子", [ComparedSentence(source="我", reference="爱", panels=[])])
    report.provenance("来源", {"seed": 1, "machine": {"cores": 2}, "versions": {"torch": "2"}})
    outline = Outline(report.html())
    for words in (
        "是否达到",
        "✓ 达到",
        "✗ 未达到",
        "阴影部分",
        "区间为 0.5 至 2",
        "图中的数值",
        "每行是译文的一个词",
        "源句",
        "参考译文",
    ):
        assert words in outline.text, words
    for words in ("随机种子", "机器 核数", "软件版本 torch"):
        assert words in outline.text, words
    assert ("aria-label", "BLEU随词数的变化") in outline.attributes and ("lang", "zh") in outline.attributes
    _, _, content = outline.text.partition(PAGE_STYLE)
    assert content
    for words in ("met", "source", "reference", "shaded", "figures", "Rows", "value"):
        assert words not in content, words
