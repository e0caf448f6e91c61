"""The results of the tour in the terminal, and as a report that opens from disk."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from saccade.inspect import ComparedSentence, Panel, Report, Target, terminal_heatmap
from saccade.language import Bilingual, Language, either_in

FIXED, ATTENTION = "fixed context", "attention"
GAP_AT = "31–40"
ALIGNED = frozenset({"fr", "de"})  # target languages with a promise about the alignment error; in Chinese, it is 0.30
SHOWN_EVERYDAY = 6  # of the everyday sentences, the first ones
_NAMES = {
    FIXED: Bilingual(en=FIXED, zh="固定向量"),
    ATTENTION: Bilingual(en=ATTENTION, zh="注意力"),
    "diagonal": Bilingual(en="diagonal", zh="对角线"),
    "uniform": Bilingual(en="uniform", zh="均匀"),
}
_LANGUAGES = {
    "fr": Bilingual(en="French", zh="法语"),
    "de": Bilingual(en="German", zh="德语"),
    "zh": Bilingual(en="Chinese", zh="汉语"),
}
Rows = list[list[str | float | None]]


def targets(results: Mapping[str, Any], language: Language = "en") -> list[Target]:
    """The promises of the tour, and whether this run kept them."""
    either = either_in(language)
    fixed, attention = (results["systems"][name] for name in (FIXED, ATTENTION))
    rows = zip(attention["by_length"], fixed["by_length"], strict=True)
    gap = next(row["scores"]["bleu"] - below["scores"]["bleu"] for row, below in rows if row["label"] == GAP_AT)
    bleu, aer = attention["up_to_20_words"]["bleu"], attention["alignment"]["aer"]
    promised = [
        Target(
            claim=either(
                "attention: BLEU ≥ 95 on unseen sentences of up to 20 words",
                "带注意力的模型：不超过 20 个词、训练时没有见过的句子，BLEU ≥ 95",
            ),
            reached=bleu,
            met=bleu >= 95,
        ),
        Target(
            claim=either(
                "at 31–40 words attention is ≥ 30 BLEU above the fixed context",
                "31–40 个词的句子：带注意力的模型比固定向量高出 ≥ 30 BLEU",
            ),
            reached=gap,
            met=gap >= 30,
        ),
    ]
    if results["effort"].get("to", "fr") in ALIGNED:
        claim = either("AER ≤ 0.15 against the gold alignment", "与标准对齐相比，AER ≤ 0.15")
        promised.append(Target(claim=claim, reached=aer, met=aer <= 0.15))
    return promised


def _examples(results: Mapping[str, Any], language: Language = "en") -> list[ComparedSentence]:
    """One sentence from each range of lengths."""
    count = results["effort"]["judged"]
    return [
        _compare(results, "translations", i, results["test"][i], language)
        for i in range(count // 2, len(results["test"]), count)
    ]


def _everyday(results: Mapping[str, Any], language: Language = "en") -> list[ComparedSentence]:
    """The everyday sentences, if they were learnt. (Results of earlier versions have no such entry.)"""
    pairs = results.get("everyday", [])
    return [_compare(results, "everyday", i, pair, language) for i, pair in enumerate(pairs)]


def _compare(
    results: Mapping[str, Any], part: str, place: int, pair: Mapping[str, str], language: Language
) -> ComparedSentence:
    panels = [
        Panel(name=_NAMES[name].within(language), text=results["systems"][name][part][place])
        for name in (FIXED, ATTENTION)
    ]
    return ComparedSentence(source=pair["source"], reference=pair["target"], panels=panels)


def _tables(results: Mapping[str, Any], language: Language = "en") -> list[tuple[str, list[str], Rows]]:
    either, (below, above) = either_in(language), (_NAMES[name].within(language) for name in (FIXED, ATTENTION))
    fixed, attention = (results["systems"][name] for name in (FIXED, ATTENTION))
    aligners: Rows = [[above, *(attention["alignment"][key] for key in ("aer", "precision", "recall"))]]
    aligners += [[_NAMES[name].within(language), aer, None, None] for name, aer in results["aligners"].items()]
    senses: Rows = [
        [row["bucket"], row["items"], lower["accuracy"], row["accuracy"], row["control"], row["chance"]]
        for row, lower in zip(attention["ambiguity"], fixed["ambiguity"], strict=True)
    ]
    measures = ["AER", either("precision", "精确率"), either("recall", "召回率")]
    columns = [
        *(either("words to the cue", "与线索词的距离（词）"), either("sentences", "句数"), below, above),
        *(either("attention, cue removed", "注意力，去掉线索词"), either("chance", "随机水平")),
    ]
    return [
        (either("Alignment against gold", "与标准对齐相比"), [either("aligner", "对齐方式"), *measures], aligners),
        (
            either(
                "Ambiguous words translated correctly, by the distance of their cue", "歧义词译对的比例，按线索词的距离"
            ),
            columns,
            senses,
        ),
    ]


def show(results: Mapping[str, Any], console: Console) -> None:
    """Print the results as examples, a heatmap and tables."""
    systems, heatmap = results["systems"], results["heatmap"]
    for example in _examples(results)[1:6:2]:
        console.print(f"\n[bold]{example.source}[/]\n  [dim]reference[/]      {example.reference}", highlight=False)
        for panel in example.panels:
            console.print(f"  [dim]{panel.name:13}[/]  {panel.text}", highlight=False)
    _show_everyday(results, console)
    if heatmap["target"]:  # a model that has learnt little may write nothing
        console.print("\nWhere attention looked (rows: the translation, columns: the source)")
        terminal_heatmap(heatmap["weights"], heatmap["source"], heatmap["target"], console)
    lengths: Rows = [
        [fixed["label"], "longer than training" if fixed["beyond"] else "as in training"]
        + [f"{row['scores']['bleu']:.1f}" for row in (fixed, attention)]
        for fixed, attention in zip(systems[FIXED]["by_length"], systems[ATTENTION]["by_length"], strict=True)
    ]
    by_length = ("BLEU on unseen sentences, by length", ["source words", "", FIXED, ATTENTION], lengths)
    for title, columns, rows in (by_length, *_tables(results)):
        table = Table(*columns, title=title)
        for row in rows:
            cells = ("–" if cell is None else f"{cell:.2f}" if isinstance(cell, float) else str(cell) for cell in row)
            table.add_row(*cells)
        console.print(table)
    for target in targets(results):
        mark = "[green]✓ met[/]" if target.met else "[red]✗ not met[/]"
        console.print(f"{mark}  {target.claim}: {target.reached:.3g}", highlight=False)


def _show_everyday(results: Mapping[str, Any], console: Console) -> None:
    """Print how many of the everyday sentences each model knows, and the attention's translations of the first ones."""
    sentences = _everyday(results)
    if not sentences:
        return
    right = [sum(each.panels[place].text == each.reference for each in sentences) for place in (0, 1)]
    counts = f"{FIXED} {right[0]}, {ATTENTION} {right[1]} of {len(sentences)} right"
    console.print(f"\nEveryday sentences, learnt by heart: {counts}", highlight=False)
    for sentence in sentences[:SHOWN_EVERYDAY]:
        text = sentence.panels[1].text
        note = "" if text == sentence.reference else f"  [dim]reference: {sentence.reference}[/]"
        console.print(f"  {sentence.source} → {text}{note}", highlight=False)


def write_report(results: Mapping[str, Any], path: Path, language: Language = "en") -> None:
    systems, either = results["systems"], either_in(language)
    report = Report(either("The effect of attention", "注意力的作用"), language)
    report.text(either("Two models, the same data", "两个模型，同样的数据"), _describe(results, language))
    report.targets(either("Targets", "目标"), targets(results, language))
    rows = systems[ATTENTION]["by_length"]
    report.lines(
        either("Quality by sentence length", "译文质量与句长"),
        [row["label"] for row in rows],
        {
            _NAMES[name].within(language): [row["scores"]["bleu"] for row in systems[name]["by_length"]]
            for name in (FIXED, ATTENTION)
        },
        x=either("source words", "源句词数"),
        y="BLEU",
        counts=[row["count"] for row in rows],
        beyond=[row["beyond"] for row in rows],
    )
    for heatmap in (results["heatmap"], *results.get("everyday_heatmaps", [])):
        if heatmap["target"]:
            heading = either("Where attention looked", "注意力看了哪里")
            report.heatmap(heading, heatmap["weights"], heatmap["source"], heatmap["target"])
    for table in _tables(results, language):
        report.table(*table)
    report.sentences(either("Translations", "译文"), _examples(results, language))
    if everyday := _everyday(results, language):
        report.table(
            either("Everyday sentences", "日常句子"),
            [*either("source,reference", "源句,参考译文").split(","), *(panel.name for panel in everyday[0].panels)],
            [[each.source, each.reference, *(panel.text for panel in each.panels)] for each in everyday],
            note=either(
                "These sentences are among the training data: a model that has learnt them knows them by heart.",
                "这些句子都在训练数据里：译得对，只说明模型背下来了。",
            ),
        )
    report.table(
        either("The models", "两个模型"),
        either(
            "model,parameters,updates,seconds,BLEU up to 20 words", "模型,参数,更新次数,秒,不超过 20 个词的 BLEU"
        ).split(","),
        [
            [*(system[key] for key in ("model", "parameters", "steps", "seconds")), system["up_to_20_words"]["bleu"]]
            for system in systems.values()
        ],
    )
    report.provenance(either("Made by", "结果的来源"), results["provenance"])
    report.save(path)


def _describe(results: Mapping[str, Any], language: Language) -> str:
    pairs, to = results["effort"]["pairs"], _LANGUAGES[results["effort"].get("to", "fr")].within(language)
    fixed, attention = (f"{results['systems'][name]['steps']:,}" for name in (FIXED, ATTENTION))
    return either_in(language)(
        f"Each was trained on one CPU core, on {pairs:,} English and {to} pairs of the built-in phrasebook, with 3 to "
        "20 source words. The test sentences contain combinations of words that are not in the training data. One "
        "model squeezes each sentence into a vector of fixed size (cho2014); the other looks back at the source for "
        f"each word that it writes (bahdanau2014). The first made {fixed} updates and the second {attention}, each of "
        "which takes twice as long.",
        f"两个模型各用一个 CPU 核，在内置短语集（phrasebook）的 {pairs:,} 个英语—{to}句对上训练，源句有 3 至 20 个词。"
        "测试句含有训练数据中没有出现过的词语搭配。一个模型把整句话压缩成一个固定大小的向量（cho2014）；"
        "另一个每写一个词，都回头看一遍源句（bahdanau2014）。"
        f"前者更新 {fixed} 次，后者更新 {attention} 次，但后者每次更新所花的时间约是前者的两倍。",
    )


def translate_example(folder: Path, source: str) -> dict[str, Any]:
    """The translation of one sentence, with its attention weights."""
    from saccade.decode.loading import load

    translation = load(folder, device="cpu").translate([source])[0]
    assert translation.attention is not None
    read, written = translation.attention.units("word")
    return {"source": list(read), "target": list(written), "weights": translation.attention.words().tolist()}
