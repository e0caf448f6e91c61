"""JoeyNMT's recurrent model with input feeding and additive attention, run by contest.Subprocess."""

from collections.abc import Callable
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

import torch
from contest import serve
from joeynmt.batch import Batch
from joeynmt.model import build_model
from joeynmt.search import search
from joeynmt.vocabulary import Vocabulary
from plain_torch import SMOOTHING, learning_step, tensors
from torch import Tensor
from work import FIRST_WORD, Work

SPECIAL = {"unk": 0, "pad": 1, "bos": 2, "eos": 3}


def recurrent(work: Work) -> Any:
    embedding, hidden, states = work.recurrent
    names = {f"{name}_token": f"<{name}>" for name in SPECIAL} | {
        f"{name}_id": number for name, number in SPECIAL.items()
    }
    words = Vocabulary(
        [str(number) for number in range(FIRST_WORD, work.vocabulary)],
        SimpleNamespace(**names, sep_token=None, lang_tags=[]),
    )
    shared = {"rnn_type": "gru", "num_layers": 1, "dropout": 0.2, "embeddings": {"embedding_dim": embedding}}
    encoder = {**shared, "type": "recurrent", "hidden_size": hidden, "bidirectional": True}
    decoder = {**shared, "type": "recurrent", "hidden_size": states, "attention": "bahdanau", "input_feeding": True}
    return build_model({"encoder": encoder, "decoder": decoder | {"init_hidden": "bridge"}}, words, words)


def batch_of(work: Work) -> Batch:
    pad, eos = SPECIAL["pad"], SPECIAL["eos"]
    ((source, target),) = tensors(work, pad, SPECIAL["bos"], eos)
    lengths, order = (source != pad).sum(1), torch.arange(work.rows)
    wanted = target if work.phase == "training" else None
    batch = Batch(source, lengths, None, wanted, None, order, torch.device(work.device), pad, eos)
    batch.sort_by_src_length()
    return batch


def step(work: Work) -> Callable[[], object]:
    model, batch = recurrent(work).train(), batch_of(work)
    model.loss_function = ("crossentropy", SMOOTHING)

    def loss() -> Tensor:
        total: Tensor = model(return_type="loss", **vars(batch))[0]
        return total / work.units

    return learning_step(model, loss)


def translation(work: Work) -> Callable[[], object]:
    model, batch = recurrent(work).eval(), batch_of(work)
    return lambda: search(model, batch, work.target, work.beam, 1.0, min_output_length=work.target)


if __name__ == "__main__":
    versions = {"JoeyNMT": version("joeynmt"), "torch": torch.__version__}
    serve(lambda work: step(work) if work.phase == "training" else translation(work), versions)
