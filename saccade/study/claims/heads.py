"""What the heads of a Transformer read, and how many can be removed."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor

from saccade.data.batching import Batch
from saccade.decode.options import Search
from saccade.decode.translator import Translator
from saccade.inspect.chart import Value, interval_chart, line_chart
from saccade.language import Bilingual
from saccade.metrics import score
from saccade.models.vaswani2017 import Vaswani2017
from saccade.study.heads import KINDS, SITES, Head, choose_kind, list_heads, measure_shares, order_of_removal, without
from saccade.study.study import (
    Cell,
    Either,
    Runs,
    Shown,
    Study,
    StudyFigure,
    StudyHeatmap,
    StudyTable,
    Threshold,
    interval_of,
)
from saccade.study.token_pairs import TokenPairs, loss_of_examples
from saccade.study.training import train_translator
from saccade.tasks import Pair, task

_TASK, _WORDS = "phrasebook-en-de", (4, 9)
_POSITIONAL, _ALIGNED = 0.9, 0.8  # of the queries; the first after Voita 2019
_SHARE = 0.2  # of the heads, which Michel 2019 could remove from their translator
_SITES: Mapping[str, Bilingual] = {
    "all": Bilingual(en="all heads", zh="所有的头"),
    "encoder": Bilingual(en="encoder's self-attention", zh="编码器自注意力"),
    "decoder": Bilingual(en="decoder's self-attention", zh="解码器自注意力"),
    "cross": Bilingual(en="cross-attention", zh="交叉注意力"),
}
_SHORT: Mapping[str, Bilingual] = {
    "encoder": Bilingual(en="encoder", zh="编码器"),
    "decoder": Bilingual(en="decoder", zh="解码器"),
    "cross": Bilingual(en="cross", zh="交叉"),
}
_KINDS: Mapping[str, Bilingual] = {
    "previous": Bilingual(en="the word before", zh="前一个词"),
    "same": Bilingual(en="the word itself", zh="这个词本身"),
    "next": Bilingual(en="the word after", zh="后一个词"),
    "start": Bilingual(en="the start symbol", zh="开始符号"),
    "end": Bilingual(en="the end symbol", zh="结束符号"),
    "to write": Bilingual(en="the source of the word to write", zh="将要写的词对应的源词"),
    "written": Bilingual(en="the source of the word just written", zh="刚写完的词对应的源词"),
}
_LEAST = {kind: _ALIGNED if kind in ("to write", "written") else _POSITIONAL for kind in _KINDS}


class Heads(Study):
    name = "heads"
    paper = (
        "Michel, Levy, Neubig (2019), Are Sixteen Heads Really Better than One?; Voita and others (2019), Analyzing "
        "Multi-Head Self-Attention; Vaswani and others (2017), Attention Is All You Need"
    )
    title = Bilingual(en="What heads do, and how many can be removed", zh="注意力头在做什么，可以去掉多少个")
    claim = Bilingual(
        en="Different heads learn different tasks (Vaswani 2017). Voita (2019) found heads that read the word before "
        "or after in at least 90 % of the cases. Michel (2019) removed heads after training: most can be removed "
        "alone with little loss; of a large translator, about 20 % together; and the cross-attention needs its heads "
        "more than self-attention does.",
        zh="不同的头学会不同的任务（Vaswani 2017）。Voita（2019）发现，有的头在至少 90% 的情况下"
        "读前一个词或后一个词。Michel（2019）在训练之后去掉一些头：单独去掉一个，大多数情况下损失很小；"
        "大型翻译模型可以同时去掉约 20% 的头；交叉注意力比自注意力更离不开自己的头。",
    )
    method = Bilingual(
        en="A Transformer with 2 + 2 layers of 4 heads learns to translate short sentences of the built-in phrasebook "
        "from English to German; its 24 heads are in three sites. For each head, we count in how many of the test "
        "sentences' positions its largest weight lies on the word before, the word itself, the word after, the symbol "
        "of start or end, or, in cross-attention, on the source word that the phrasebook aligns with the target word. "
        f"A head has a kind if this is so for {_POSITIONAL:.0%} of the positions ({_ALIGNED:.0%} for aligned words). "
        "A head is removed by setting its part of the output projection to zero, without training again. Heads are "
        "removed one at a time, and then greedily: the next is always the one whose removal increases the loss on "
        "other sentences least. BLEU is measured on the test sentences with greedy search.",
        zh="Transformer 编码器和解码器各 2 层，每处 4 个头，学习把内置短语集的英语短句译成德语；"
        "24 个头分布在三处注意力中。对每个头，统计测试句中有多少位置的最大权重"
        "落在前一个词、这个词本身、后一个词、开始或结束符号上；"
        f"对交叉注意力，则看是否落在短语集标注的对应源词上。达到 {_POSITIONAL:.0%} 的位置（对应源词为 "
        f"{_ALIGNED:.0%}），就归为这一类。去掉一个头，就是把输出投影中属于它的部分置零，不再训练。先逐个单独去掉，"
        "再贪心地依次去掉：每次去掉在另一批句子上使损失增加最少的那个头。在测试句上用贪心搜索测 BLEU。",
    )
    limits = Bilingual(
        en="The models of the papers have 6 + 6 layers of 8 or 16 heads and read real text; with 24 heads in all, "
        "each matters more. Michel ranks heads once, by the gradient of a mask; here each step tries all. Voita "
        "prunes while training goes on, which lets the others take over, and removes many more. A head's largest "
        "weight says where it looks most, not what it uses.",
        zh="论文的模型编码器和解码器各 6 层，每处 8 或 16 个头，读的是真实文本；这里一共只有 24 个头，"
        "每个头的分量更重。Michel 用掩码的梯度一次排好次序，这里每一步都逐个尝试。Voita 一边训练一边剪枝，"
        "其余的头可以接替，所以能去掉的多得多。最大权重只说明一个头主要看哪里，不说明它用了什么。",
    )
    thresholds = (
        Threshold(
            text=Bilingual(
                en="at least half of the heads can be removed alone with a loss of at most 1 BLEU",
                zh="至少一半的头，单独去掉后最多损失 1 BLEU",
            ),
            value=lambda runs: [_share_removable(trial.measured) for trial in runs],
            least=50,
        ),
        Threshold(
            text=Bilingual(
                en="20 % of the heads can be removed together with a loss of at most 1 BLEU",
                zh="同时去掉 20% 的头，最多损失 1 BLEU",
            ),
            value=lambda runs: [_loss_without_share(trial.measured) for trial in runs],
            most=1,
        ),
        Threshold(
            text=Bilingual(
                en="at least one head of the encoder reads the word before or after, for 90 % of the words",
                zh="编码器中至少有一个头，对 90% 的词读的是前一个或后一个词",
            ),
            value=lambda runs: [_count(trial.measured, "encoder", ("previous", "next")) for trial in runs],
            least=1,
        ),
        Threshold(
            text=Bilingual(
                en="at least one head of the cross-attention reads the aligned word, for 80 % of the words",
                zh="交叉注意力中至少有一个头，对 80% 的词读的是对应的源词",
            ),
            value=lambda runs: [_count(trial.measured, "cross", ("to write", "written")) for trial in runs],
            least=1,
        ),
        Threshold(
            text=Bilingual(
                en="with a quarter of a site's heads, cross-attention loses at least 1 BLEU more than self-attention",
                zh="一处注意力只留四分之一的头时，交叉注意力比自注意力至少多损失 1 BLEU",
            ),
            value=lambda runs: [_need_of_cross(trial.measured) for trial in runs],
            least=1,
        ),
    )

    def trials(self, *, quick: bool) -> Sequence[Mapping[str, Any]]:
        return [{}]

    def measure(self, settings: Mapping[str, Any], seed: int, *, quick: bool) -> Mapping[str, Any]:
        translator = _train(seed, quick)
        model = cast(Vaswani2017, translator.model)
        tests = list(task(_TASK).pairs(20 if quick else 150, 1, "test", _WORDS))
        examples = _encode(translator, list(task(_TASK).pairs(10 if quick else 80, 2, "valid", _WORDS)))
        heads = list_heads(model)
        readings = [_read(translator, pair) for pair in tests]
        shares = measure_shares(heads, readings, [pair.alignment or () for pair in tests])
        alone = [_bleu(translator, tests, [head]) for head in heads]
        return {
            "bleu": _bleu(translator, tests),
            "heads": [
                {"site": head.site, "layer": head.layer, "number": head.number}
                | {"shares": shares[head], "kind": choose_kind(shares[head], _LEAST), "alone": bleu}
                for head, bleu in zip(heads, alone, strict=True)
            ],
            "curves": {
                site: _bleu_without(translator, examples, tests, [h for h in heads if site in ("all", h.site)])
                for site in _SITES
            },
            "drawn": _draw(translator, shares, max(tests, key=lambda pair: len(pair.target))) if seed == 1 else [],
        }

    def shown(self, runs: Runs, either: Either) -> Sequence[Shown]:
        first = runs[0].measured
        kinds = {kind: either(text.en, text.zh) for kind, text in _KINDS.items()}
        sites = {site: either(text.en, text.zh) for site, text in _SITES.items()}
        rows: list[list[Cell]] = []
        for head in sorted(first["heads"], key=lambda head: head["alone"]):
            kind = max(head["shares"], key=head["shares"].__getitem__)
            share = f"{kinds[kind]}{either(': ', '：')}{head['shares'][kind]:.0%}"
            rows.append(
                [_name(head, either), share, "✓" if head["kind"] else "", round(head["alone"] - first["bleu"], 2)]
            )
        counts: list[list[Cell]] = [
            [sites[site], kinds[kind], interval_of([_count(run.measured, site, (kind,)) for run in runs]).mean]
            for site in SITES
            for kind in KINDS[site]
        ]
        return (
            StudyFigure(
                title=either("BLEU as heads are removed", "逐步去掉注意力头时的 BLEU"),
                chart=_chart(runs, sites, either),
                note=either("Greedily, at all sites or at one alone.", "贪心地依次去掉：三处一起，或只在其中一处。"),
            ),
            StudyFigure(
                title=either("BLEU without one head", "去掉一个头之后的 BLEU"),
                chart=interval_chart(_alone(runs, either), x="BLEU", either=either),
                note=either(
                    "The head of each site that matters most, and the mean of all heads of the site.",
                    "每处最重要的那个头，以及该处所有头的平均。",
                ),
            ),
            StudyTable(
                title=either("Each head", "每个头"),
                columns=[
                    either("head", "头"),
                    either("its largest weight is most often on", "最大权重最常落在"),
                    either("kind", "归类"),
                    either("BLEU without it", "去掉后的 BLEU 变化"),
                ],
                rows=rows,
                note=either(
                    f"Seed 1, from the head that matters most. BLEU with all heads: {first['bleu']:.1f}.",
                    f"随机种子 1，从最重要的头排起。全部保留时 BLEU 为 {first['bleu']:.1f}。",
                ),
            ),
            StudyTable(
                title=either("Heads with a kind", "可归类的头"),
                columns=[either("site", "位置"), either("reads", "读的是"), either("heads", "个数")],
                rows=counts,
                note=either("Means over the seeds.", "各随机种子的平均。"),
            ),
            *(_heatmap(drawn, kinds, either) for drawn in first["drawn"]),
        )


def _train(seed: int, quick: bool) -> Translator:
    layers = 1 if quick else 2
    model = {
        "name": "vaswani2017",
        "width": 32 if quick else 64,
        "inner": 64 if quick else 128,
        "heads": 4,
        "encoder_layers": layers,
        "decoder_layers": layers,
        "dropout": 0.0,
        "tie": "target",
    }
    data = {"pairs": f"task:{_TASK}", "words": list(_WORDS), "count": 1000 if quick else 12_000}
    return train_translator(model, data, updates=40 if quick else 1200, seed=seed)


def _encode(translator: Translator, pairs: Sequence[Pair]) -> TokenPairs:
    segments = [translator.segments(pair.source, pair.target) for pair in pairs]
    batch = Batch.of([source.ids for source, _ in segments], [target.ids for _, target in segments], range(len(pairs)))
    return TokenPairs(batch.source, batch.target_in, batch.target_out)


def _bleu(translator: Translator, pairs: Sequence[Pair], removed: Sequence[Head] = ()) -> float:
    with without(cast(Vaswani2017, translator.model), removed):
        written = translator.translate([pair.source for pair in pairs], Search(beam=1))
    return float(score([each.text for each in written], [pair.target for pair in pairs], metrics=("bleu",))["bleu"])


@torch.no_grad()
def _read(translator: Translator, pair: Pair) -> dict[str, Tensor]:
    """The weights (H, T, S) of each attention when the model writes the target"""
    source, inputs, _ = _encode(translator, [pair])
    translator.model.eval()
    with translator.model.trace() as trace:
        translator.model(source, torch.ones_like(source, dtype=torch.bool), inputs)
    return {name: trace[name][0] for name in trace}


def _bleu_without(
    translator: Translator, examples: TokenPairs, tests: Sequence[Pair], heads: Sequence[Head]
) -> list[float]:
    """BLEU without none, one, two, … and all of the heads, of which the one that the loss misses least goes first"""
    model = cast(Vaswani2017, translator.model)
    order = order_of_removal(model, heads, lambda: float(loss_of_examples(model, examples)))
    return [_bleu(translator, tests, order[:removed]) for removed in range(len(order) + 1)]


def _draw(translator: Translator, shares: Mapping[Head, Mapping[str, float]], pair: Pair) -> list[dict[str, Any]]:
    """The weights of the head of each site that most often reads in one way, in one sentence"""
    weights = _read(translator, pair)
    source, target = translator.segments(pair.source, pair.target)
    sources, targets = [*source.words, "⟨/s⟩"], ["⟨s⟩", *target.words]
    drawn = []
    for site in SITES:
        of_site = [(head, kind) for head in shares if head.site == site for kind in KINDS[site]]
        head, kind = max(of_site, key=lambda each: shares[each[0]][each[1]])
        rows = weights[head.attention][head.number]
        drawn.append(
            {**head._asdict(), "kind": kind, "share": shares[head][kind]}
            | {"rows": sources if site == "encoder" else targets, "columns": targets if site == "decoder" else sources}
            | {"weights": [[round(weight, 3) for weight in row] for row in rows.tolist()]}
        )
    return drawn


def _share_removable(measured: Mapping[str, Any]) -> float:
    heads = measured["heads"]
    return 100 * float(sum(measured["bleu"] - head["alone"] <= 1 for head in heads)) / len(heads)


def _loss_without_share(measured: Mapping[str, Any]) -> float:
    bleu = measured["curves"]["all"]
    return float(bleu[0] - bleu[round(_SHARE * (len(bleu) - 1))])


def _count(measured: Mapping[str, Any], site: str, kinds: Sequence[str]) -> float:
    return float(sum(head["site"] == site and head["kind"] in kinds for head in measured["heads"]))


def _need_of_cross(measured: Mapping[str, Any]) -> float:
    """How much BLEU cross-attention loses more than the self-attention that loses most, with a quarter of the heads"""
    left = {site: bleu[3 * (len(bleu) - 1) // 4] for site, bleu in measured["curves"].items()}
    return float(min(left["encoder"], left["decoder"]) - left["cross"])


def _name(head: Mapping[str, Any], either: Either) -> str:
    site = _SHORT[head["site"]]
    return f"{either(site.en, site.zh)} {head['layer'] + 1}.{head['number'] + 1}"


def _chart(runs: Runs, sites: Mapping[str, str], either: Either) -> Any:
    longest = len(runs[0].measured["curves"]["all"])
    lines: dict[str, list[Value]] = {}
    for site, name in sites.items():
        means = [interval_of(values) for values in zip(*(run.measured["curves"][site] for run in runs), strict=True)]
        lines[name] = [*means, *[None] * (longest - len(means))]
    return line_chart(
        [str(removed) if removed % 2 == 0 else "" for removed in range(longest)],
        lines,
        x=either("heads removed", "去掉的头数"),
        y="BLEU",
        either=either,
    )


def _alone(runs: Runs, either: Either) -> dict[str, Any]:
    rows = {either("all heads kept", "全部保留"): runs.interval("bleu")}
    for site, name in _SHORT.items():
        of_site = [[head["alone"] for head in run.measured["heads"] if head["site"] == site] for run in runs]
        rows[either(f"{name.en}: most important", f"{name.zh}：最重要的")] = interval_of(
            [min(each) for each in of_site]
        )
        rows[either(f"{name.en}: mean", f"{name.zh}：平均")] = interval_of([sum(each) / len(each) for each in of_site])
    return rows


def _heatmap(drawn: Mapping[str, Any], kinds: Mapping[str, str], either: Either) -> StudyHeatmap:
    reads = either(f"{kinds[drawn['kind']]}: {drawn['share']:.0%}", f"{kinds[drawn['kind']]}：{drawn['share']:.0%}")
    return StudyHeatmap(
        title=f"{_name(drawn, either)}{either(', ', '，')}{reads}",
        weights=drawn["weights"],
        columns=drawn["columns"],
        rows=drawn["rows"],
        note=either(
            "The head of this site that most often reads in one way, seed 1.", "该处读法最固定的头，随机种子 1。"
        ),
    )
