"""The vanishing gradient (Hochreiter 1991; Bengio, Simard and Frasconi 1994), and what keeps it."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from saccade.attention.table import build
from saccade.inspect.chart import line_chart
from saccade.language import Bilingual
from saccade.layers.recurrent import UNITS, Cell
from saccade.study.study import Either, Runs, Shown, Study, StudyFigure, Threshold
from saccade.study.training import train_on_tensors

_WIDTH, _FIRST, _NOISE = 32, 8, 8  # width of the states; symbols to remember, and symbols between
_END = _FIRST + _NOISE  # the last symbol: answer now
_GAPS, _QUICK_GAPS = (5, 10, 20, 40, 80), (5, 60)
_FAR = 50
_DISTANCES = (0, 1, 2, 5, 10, 15, 20, 25, 30, 40, 50, 60, 70, 80)
_OPEN = 30.0  # σ(30) is 1 in float32, and its derivative 0
_SEQUENCES, _JUDGED, _ROWS = 6400, 500, 64
CELLS: Mapping[str, Cell] = {"tanh": "tanh", "gru": "gru", "lstm": "lstm", "lstm1997": "lstm", "attention": "tanh"}
SYSTEMS: Mapping[str, Bilingual] = {
    "tanh": Bilingual(en="tanh", zh="tanh"),
    "gru": Bilingual(en="GRU", zh="GRU"),
    "lstm": Bilingual(en="LSTM with forget gate", zh="带遗忘门的 LSTM"),
    "lstm1997": Bilingual(en="LSTM of 1997", zh="1997 年的 LSTM"),
    "attention": Bilingual(en="tanh and attention", zh="tanh 加注意力"),
}


class Reader(nn.Module):
    """Reads a sequence; what it remembers at the end is its last state, or what attention reads of all states."""

    def __init__(self, system: str) -> None:
        super().__init__()
        self.embedding = nn.Embedding(_END + 1, _WIDTH)
        self.unit = UNITS[CELLS[system]](_WIDTH, _WIDTH)
        self.attention = None
        if system == "attention":
            self.attention = build("bahdanau2014", query_dim=_WIDTH, memory_dim=_WIDTH, width=_WIDTH)
        if system == "lstm1997":  # it has no forget gate: nothing is forgotten
            nn.init.constant_(self.unit.of_input.bias.detach()[:_WIDTH], _OPEN)
        self.output = nn.Linear(_WIDTH, _FIRST)

    def forward(self, tokens: Tensor) -> Tensor:
        """tokens (B, S) → logits of the first symbol (B, _FIRST)"""
        projected = self.unit.of_input(self.embedding(tokens))
        states, _ = self.unit.run(projected, projected.new_zeros(len(tokens), self.unit.size))
        logits: Tensor = self.output(self.remembered(states))
        return logits

    def remembered(self, states: Tensor) -> Tensor:
        """h (B, S, width) → (B, width)"""
        last = states[:, -1]
        if self.attention is None:
            return last
        context: Tensor = self.attention(last[:, None], self.attention.remember(states)).context
        return context.squeeze(1)

    def gradient_norms(self, tokens: Tensor) -> list[float]:
        """‖∂(v·y)/∂s_{T−d}‖ for d = 0, 1, …, where y is what is remembered, s a state (of an LSTM: h and c) and v a
        random direction of length 1; the mean over the sequences.
        """
        projected = self.unit.of_input(self.embedding(tokens))
        state, states = projected.new_zeros(len(tokens), self.unit.size), []
        for step in projected.unbind(1):
            state = self.unit(step, state)
            states.append(state)
        remembered = self.remembered(torch.stack([self.unit.read(state) for state in states], 1))
        direction = F.normalize(torch.randn_like(remembered), dim=-1)
        gradients = torch.autograd.grad((remembered * direction).sum(), states)
        return [float(gradient.norm(dim=-1).mean()) for gradient in reversed(gradients)]


class VanishingGradient(Study):
    name = "vanishing-gradient"
    paper = (
        "Bengio, Simard, Frasconi (1994), Learning Long-Term Dependencies with Gradient Descent is Difficult; "
        "Hochreiter, Schmidhuber (1997), Long Short-Term Memory; Pascanu, Mikolov, Bengio (2013), On the Difficulty of "
        "Training Recurrent Neural Networks"
    )
    title = Bilingual(en="The vanishing gradient", zh="梯度消失")
    claim = Bilingual(
        en="In a recurrent network that holds information stably, the gradient falls exponentially with the distance "
        "in time, so that it does not learn what is far away (Bengio and others 1994). In an LSTM, the error flows "
        "back through a cell whose derivative is 1, the constant error carousel, and bridges long gaps (Hochreiter and "
        "Schmidhuber 1997). Attention makes the distance one step (Bahdanau and others 2014).",
        zh="循环网络要稳定地保存信息，梯度就会随时间距离按指数衰减，于是学不会相隔很远的依赖（Bengio 等，1994）。"
        "在 LSTM 里，误差沿着导数为 1 的记忆单元传回去（“恒定误差传送带”），能跨过很长的间隔"
        "（Hochreiter 与 Schmidhuber，1997）。有了注意力，任何距离都只有一步（Bahdanau 等，2014）。",
    )
    method = Bilingual(
        en=f"A sequence begins with one of {_FIRST} symbols, then come 5 to 80 other symbols at random, and at the end "
        "the model names the first one. For each kind of unit and each gap, a network of "
        f"{_WIDTH} units is trained on {_SEQUENCES} sequences. Before and after training, the gradient of what is "
        "remembered at the end is measured with respect to the state d steps back (of an LSTM: output and cell). "
        "The LSTM of 1997 has no forget gate: here it is the later LSTM with its forget gate held at 1. With "
        "attention, the last state of a tanh network asks all states.",
        zh=f"每个序列的开头是 {_FIRST} 个符号之一，后面是 5 到 80 个随机的其他符号，最后要求模型说出第一个符号。"
        f"对每种单元、每种间隔，各用 {_SEQUENCES} 个序列训练一个宽度为 {_WIDTH} 的网络。"
        "训练前后，分别测量末尾记住的向量对 d 步之前的状态（LSTM 包括输出和记忆单元）的梯度。"
        "1997 年的 LSTM 没有遗忘门：这里用后来的 LSTM，把遗忘门固定为 1。"
        "加注意力的模型，是用 tanh 网络的最后一个状态去查询所有的状态。",
    )
    limits = Bilingual(
        en="The recurrent matrices start orthogonal, and training is by Adam with clipped gradients: both are kinder "
        "to the tanh network than the experiments of 1994 were. Training is short, and its length is the same for all. "
        "The gates of a GRU start half open, and the forget gate of the later LSTM at 0.73, so that both forget at "
        "first, too; longer training or other initial biases would take them further. Exploding gradients (Pascanu and "
        "others 2013) are not measured. The noise of this task cannot be confused with what is to be remembered; real "
        "texts are not so kind to attention, nor to an LSTM that never forgets.",
        zh="循环矩阵用正交矩阵初始化，训练用 Adam 并裁剪梯度：这两点都比 1994 年的实验更照顾 tanh 网络。"
        "训练很短，各模型的训练量相同。GRU 的门起初半开，后来的 LSTM 的遗忘门起初约为 0.73，所以它们一开始也会遗忘；"
        "训练更久，或者换用别的初始偏置，它们能跨过更长的间隔。没有测量梯度爆炸（Pascanu 等，2013）。"
        "在这个任务里，噪声和要记住的符号不会混淆；真实的文本对注意力没有这么友好，对从不遗忘的 LSTM 也一样。",
    )
    thresholds = (
        Threshold(
            text=Bilingual(
                en=f"tanh, before training: {_FAR} steps back, the gradient is at most 1/1000 of that at the end",
                zh=f"tanh，训练前：{_FAR} 步之前的梯度最多是末尾的 1/1000",
            ),
            value=lambda runs: _far_share(runs, "tanh"),
            most=1e-3,
        ),
        Threshold(
            text=Bilingual(
                en=f"LSTM of 1997, before training: {_FAR} steps back, at least 1000 times the gradient of tanh",
                zh=f"1997 年的 LSTM，训练前：{_FAR} 步之前的梯度至少是 tanh 的 1000 倍",
            ),
            value=lambda runs: _times_tanh(runs, "lstm1997"),
            least=1e3,
        ),
        Threshold(
            text=Bilingual(
                en=f"attention, before training: {_FAR} steps back, at least 1000 times the gradient of tanh",
                zh=f"注意力，训练前：{_FAR} 步之前的梯度至少是 tanh 的 1000 倍",
            ),
            value=lambda runs: _times_tanh(runs, "attention"),
            least=1e3,
        ),
        Threshold(
            text=Bilingual(
                en="tanh names at most 50 % of the first symbols after the longest gap",
                zh="间隔最长时，tanh 最多说对 50% 的首个符号",
            ),
            value=lambda runs: runs.values("right", system="tanh", gap=_longest(runs)),
            most=50.0,
        ),
        Threshold(
            text=Bilingual(
                en="the LSTM of 1997 names at least 90 % of them",
                zh="间隔最长时，1997 年的 LSTM 至少说对 90% 的首个符号",
            ),
            value=lambda runs: runs.values("right", system="lstm1997", gap=_longest(runs)),
            least=90.0,
        ),
        Threshold(
            text=Bilingual(
                en="attention names at least 90 % of them",
                zh="间隔最长时，注意力至少说对 90% 的首个符号",
            ),
            value=lambda runs: runs.values("right", system="attention", gap=_longest(runs)),
            least=90.0,
        ),
    )

    def trials(self, *, quick: bool) -> Sequence[Mapping[str, Any]]:
        gaps = _QUICK_GAPS if quick else _GAPS
        return [{"system": system, "gap": gap} for system in SYSTEMS for gap in gaps]

    def measure(self, settings: Mapping[str, Any], seed: int, *, quick: bool) -> Mapping[str, Any]:
        torch.manual_seed(seed)
        gap, model = settings["gap"], Reader(settings["system"])
        judged, first = draw_sequences(_JUDGED, gap)
        before = model.gradient_norms(judged[:_ROWS])
        train_on_tensors(
            model, _loss, draw_sequences(_SEQUENCES, gap), rows=_ROWS, updates=30 if quick else 400, seed=seed, lr=5e-3
        )
        with torch.no_grad():
            right = float((model(judged).argmax(-1) == first).float().mean())
        after = model.gradient_norms(judged[:_ROWS])
        return {"right": 100 * right, "before": _at_distances(before), "after": _at_distances(after)}

    def shown(self, runs: Runs, either: Either) -> Sequence[Shown]:
        names = {name: either(system.en, system.zh) for name, system in SYSTEMS.items()}
        longest, gaps = _longest(runs), runs.settings("gap")
        distances = [distance for distance in _DISTANCES if distance <= longest + 1]
        norms = {
            when: {names[name]: _mean_norms(runs, when, name, longest) for name in SYSTEMS}
            for when in ("before", "after")
        }
        right = {names[name]: [runs.interval("right", system=name, gap=gap) for gap in gaps] for name in SYSTEMS}
        labels = [str(distance) for distance in distances]
        x, y = either("steps back", "往回的步数"), either("norm of the gradient", "梯度的范数")
        return (
            StudyFigure(
                title=either("The gradient before training", "训练前的梯度"),
                chart=line_chart(labels, norms["before"], x=x, y=y, powers=True, either=either),
                note=either("Means over the seeds.", "各随机种子的平均值。"),
            ),
            StudyFigure(
                title=either("The gradient after training", "训练后的梯度"),
                chart=line_chart(labels, norms["after"], x=x, y=y, powers=True, either=either),
                note=either(
                    f"Of the models trained with a gap of {longest}.", f"在间隔为 {longest} 的数据上训练的模型。"
                ),
            ),
            StudyFigure(
                title=either("Remembering the first symbol", "记住第一个符号"),
                chart=line_chart(
                    [str(gap) for gap in gaps],
                    right,
                    x=either("gap", "间隔"),
                    y=either("% right", "正确率（%）"),
                    either=either,
                ),
                note=either(f"Guessing gives {100 / _FIRST:g} %.", f"随机猜测的正确率是 {100 / _FIRST:g}%。"),
            ),
        )


def draw_sequences(count: int, gap: int) -> tuple[Tensor, Tensor]:
    """Sequences (count, gap + 2) of a first symbol, noise and the end symbol; and the first symbols (count,)"""
    first = torch.randint(_FIRST, (count, 1))
    noise = torch.randint(_FIRST, _END, (count, gap))
    return torch.cat([first, noise, torch.full((count, 1), _END)], 1), first.squeeze(1)


def _loss(model: nn.Module, tensors: tuple[Tensor, ...]) -> Tensor:
    tokens, first = tensors
    return F.cross_entropy(model(tokens), first, reduction="sum")


def _at_distances(norms: Sequence[float]) -> list[float]:
    return [norms[distance] for distance in _DISTANCES if distance < len(norms)]


def _longest(runs: Runs) -> int:
    longest: int = max(runs.settings("gap"))
    return longest


def _mean_norms(runs: Runs, when: str, system: str, gap: int) -> list[float]:
    """The mean over the seeds at each distance; at least the smallest normal number, for an axis of powers"""
    rows = [trial.measured[when] for trial in runs.where(system=system, gap=gap)]
    smallest = torch.finfo(torch.float32).tiny
    return [max(sum(column) / len(column), smallest) for column in zip(*rows, strict=True)]


def _far(runs: Runs, system: str) -> list[float]:
    place = _DISTANCES.index(_FAR)
    return [trial.measured["before"][place] for trial in runs.where(system=system, gap=_longest(runs))]


def _far_share(runs: Runs, system: str) -> list[float]:
    last = [trial.measured["before"][0] for trial in runs.where(system=system, gap=_longest(runs))]
    return [far / near for far, near in zip(_far(runs, system), last, strict=True)]


def _times_tanh(runs: Runs, system: str) -> list[float]:
    return [other / tanh for other, tanh in zip(_far(runs, system), _far(runs, "tanh"), strict=True)]
