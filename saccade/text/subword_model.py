"""Training of a sentencepiece model, with the same result on every machine."""

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from random import Random

from saccade.errors import UserError
from saccade.text.tokeniser import BOS, EOS, MOST_LINES, PAD, UNK, Policy, split_chunks

_UNTRAINABLE = str.maketrans("▅\t", "  ")  # sentencepiece's own marks: it silently skips a line that contains the first
_LONGEST_LINE = 1 << 18  # bytes; with the default of 4192, long lines would silently be skipped


def _sample_lines(lines: Iterable[str], most: int) -> list[str]:
    """Draw at most so many of the lines, uniformly and always the same ones. (The sample of sentencepiece differs from
    process to process, seeded or not.)"""
    random = Random(0)
    sample: list[str] = []
    for count, line in enumerate(lines, 1):
        if count <= most:
            sample.append(line)
        elif (place := random.randrange(count)) < most:
            sample[place] = line
    return sample


def train_subword_model(
    lines: Iterable[str],
    policy: Policy,
    *,
    tags: Sequence[str] = (),
    symbols: Sequence[str] = (),
    most_lines: int = MOST_LINES,
) -> bytes:
    """`tags` become tokens that no text contains; `symbols` become tokens wherever a text contains them."""
    from sentencepiece import SentencePieceTrainer

    sample = _sample_lines(lines, most_lines)  # here, so that an error in the files does not pass through C++

    def training_text() -> Iterator[str]:
        chunks = (chunk for line in sample if line.strip() for chunk in split_chunks(line, policy))
        texts = (chunk.translate(_UNTRAINABLE) for chunk in chunks)
        if policy.kind == "word":  # every word once, with its count
            yield from (f"{text}\t{count}" for text, count in Counter(texts).items())
        else:
            yield from texts

    written = io.BytesIO()
    try:
        SentencePieceTrainer.train(
            sentence_iterator=training_text(),
            input_format="tsv" if policy.kind == "word" else "text",
            model_writer=written,
            model_type=policy.kind,
            vocab_size=policy.size,
            hard_vocab_limit=False,
            byte_fallback=policy.byte_fallback,
            # Rare characters are spelled in bytes where there are any.
            character_coverage=0.9995 if policy.byte_fallback and policy.kind != "char" else 1.0,
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
            control_symbols=list(tags),
            user_defined_symbols=list(symbols),
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            add_dummy_prefix=False,
            max_sentence_length=_LONGEST_LINE,
            num_threads=16,  # decides the order of sums, on every machine alike
            minloglevel=2,
        )
    except RuntimeError as error:
        # sentencepiece's messages name its source lines and its own options.
        if "sentences_.empty()" in str(error):
            raise UserError("no text to train a vocabulary on: every line is empty") from None
        if needed := re.search(r"required_chars\. \d+ vs (\d+)", str(error)):
            least = int(needed[1])
        elif "vocab_size" in str(error):
            least = 4 + 256 * policy.byte_fallback + len(tags) + len(symbols) + 1
        else:
            raise
        raise UserError(f"a vocabulary of {policy.size} is too small for this text; it needs {least} or more") from None
    return written.getvalue()
