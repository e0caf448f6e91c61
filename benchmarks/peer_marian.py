"""Hugging Face's MarianMTModel at the sizes of a Transformer of Saccade, run by contest.Subprocess."""

from collections.abc import Callable

import torch
import transformers
from contest import serve
from plain_torch import BOS, EOS, PAD, tensors, training_step
from torch import Tensor
from work import Work


def marian(work: Work) -> transformers.MarianMTModel:
    sizes = work.settings
    config = transformers.MarianConfig(
        vocab_size=work.vocabulary,
        d_model=sizes["width"],
        encoder_layers=sizes["encoder_layers"],
        decoder_layers=sizes["decoder_layers"],
        encoder_attention_heads=sizes["heads"],
        decoder_attention_heads=sizes["heads"],
        encoder_ffn_dim=sizes["inner"],
        decoder_ffn_dim=sizes["inner"],
        max_position_embeddings=512,
        pad_token_id=PAD,
        decoder_start_token_id=BOS,
        eos_token_id=EOS,
        bos_token_id=BOS,
        forced_eos_token_id=None,
        dropout=0.1,
        attention_dropout=0.0,
        activation_function="relu",
        scale_embedding=True,
    )
    return transformers.MarianMTModel(config).to(work.device)


def step(work: Work) -> Callable[[], object]:
    model = marian(work).train()

    def logits_of(source: Tensor, inputs: Tensor) -> Tensor:
        logits: Tensor = model(
            input_ids=source, attention_mask=(source != PAD).long(), decoder_input_ids=inputs, use_cache=False
        ).logits
        return logits

    return training_step(model, work, logits_of)


def generation(work: Work) -> Callable[[], object]:
    model = marian(work).eval().to(getattr(torch, work.dtype))
    ((source, _),) = tensors(work)
    readable = (source != PAD).long()

    def generate() -> None:
        with torch.inference_mode():
            model.generate(
                input_ids=source,
                attention_mask=readable,
                num_beams=work.beam,
                min_new_tokens=work.target,
                max_new_tokens=work.target,
            )

    return generate


if __name__ == "__main__":
    transformers.logging.set_verbosity_error()
    versions = {"transformers": transformers.__version__, "torch": torch.__version__}
    serve(lambda work: step(work) if work.phase == "training" else generation(work), versions)
