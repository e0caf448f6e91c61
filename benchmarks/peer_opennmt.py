"""OpenNMT-py's recurrent model with input feeding and additive attention, run by contest.Subprocess.

Its output layer reads the decoder's state directly, so it has twice as many weights as Saccade's. OpenNMT-py asks for
torch < 2.3 but runs with the torch of the others. Empty modules replace two that only its data transforms need.
"""

import sys
from collections.abc import Callable
from importlib.metadata import version
from types import ModuleType

for name in ("spacy", "fasttext"):
    sys.modules[name] = ModuleType(name)

import torch  # noqa: E402
from contest import serve  # noqa: E402
from onmt.decoders.decoder import InputFeedRNNDecoder  # noqa: E402
from onmt.encoders.rnn_encoder import RNNEncoder  # noqa: E402
from onmt.models.model import NMTModel  # noqa: E402
from onmt.modules.embeddings import Embeddings  # noqa: E402
from onmt.translate import GNMTGlobalScorer, Translator  # noqa: E402
from plain_torch import BOS, EOS, PAD, tensors, training_step  # noqa: E402
from torch import Tensor, nn  # noqa: E402
from work import FIRST_WORD, Work  # noqa: E402


class Words(list[str]):
    """A vocabulary by number only"""

    def lookup_token(self, token: str) -> int:
        return {"<blank>": PAD, "<s>": BOS, "</s>": EOS}.get(token, FIRST_WORD - 1)


def recurrent(work: Work) -> NMTModel:
    embedding, hidden, states = work.recurrent
    source, target = (Embeddings(embedding, work.vocabulary, PAD, dropout=0.2) for _ in range(2))
    encoder = RNNEncoder("GRU", True, 1, 2 * hidden, 0.2, source)
    decoder = InputFeedRNNDecoder("GRU", True, 1, states, attn_type="mlp", dropout=0.2, embeddings=target)
    model = NMTModel(encoder, decoder)
    model.generator = nn.Linear(states, work.vocabulary)
    for weight in model.parameters():  # by its default; it allocates them without values
        nn.init.uniform_(weight, -0.1, 0.1)
    return model


def step(work: Work) -> Callable[[], object]:
    model = recurrent(work).train()

    def logits_of(source: Tensor, inputs: Tensor) -> Tensor:
        lengths = (source != PAD).sum(1)
        with_last = nn.functional.pad(inputs, (0, 1))  # the model cuts the last token off
        states, _ = model(source[..., None], with_last[..., None], lengths)
        logits: Tensor = model.generator(states)
        return logits

    return training_step(model, work, logits_of)


def translation(work: Work) -> Callable[[], object]:
    ((source, _),) = tensors(work)
    words = Words(map(str, range(work.vocabulary)))
    translator = Translator(
        recurrent(work).eval(),
        {"src": words, "tgt": words, "decoder_start_token": "<s>"},
        beam_size=work.beam,
        min_length=work.target,
        max_length=work.target,
        max_length_ratio=0,
        global_scorer=GNMTGlobalScorer(1.0, 0.0, "wu", "none"),
    )
    batch = {"src": source[..., None], "srclen": (source != PAD).sum(1), "ind_in_bucket": list(range(len(source)))}
    return lambda: translator.translate_batch(batch, False)


if __name__ == "__main__":
    versions = {"OpenNMT-py": version("OpenNMT-py"), "torch": torch.__version__}
    serve(lambda work: step(work) if work.phase == "training" else translation(work), versions)
