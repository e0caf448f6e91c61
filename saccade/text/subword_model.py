"""A sentencepiece model made from lines of text, the same one wherever it is made."""

import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from random import Random

from saccade.errors import UserError
from saccade.text.policy import Policy, split_chunks

PAD, UNK, BOS, EOS = 0, 1, 2, 3
MOST_LINES = 1_000_000  # enough to make a vocabulary from; more are drawn from

_UNTRAINABLE = str.maketrans("▅\t", "  ")  # sentencepiece's own marks: it leaves out a line that holds the first
_LONGEST_LINE = 1 << 18  # bytes; the default of 4192 would leave long lines out unsaid


def _drawn(lines: Iterable[str], most: int) -> list[str]:
    """At most so many of the lines, each as likely as another, always the same ones (sentencepiece's own draw differs
    from process to process, seeded or not)."""
    random = Random(0)
    drawn: list[str] = []
    for count, line in enumerate(lines, 1):
        if count <= most:
            drawn.append(line)
        elif (place := random.randrange(count)) < most:
            drawn[place] = line
    return drawn


def train_subword_model(
    lines: Iterable[str],
    policy: Policy,
    *,
    tags: Sequence[str] = (),
    symbols: Sequence[str] = (),
    most_lines: int = MOST_LINES,
) -> bytes:
    """`tags` become ids that no text is cut into; `symbols`, ids that every text that holds them is cut at."""
    from sentencepiece import SentencePieceTrainer

    drawn = _drawn(lines, most_lines)  # here, so that a mistake in the files is raised as it is, not through C++

    def training_text() -> Iterator[str]:
        cut = (chunk.translate(_UNTRAINABLE) for line in drawn if line.strip() for chunk in split_chunks(line, policy))
        if policy.kind == "word":  # every word once, with its count
            yield from (f"{chunk}\t{count}" for chunk, count in Counter(cut).items())
        else:
            yield from cut

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
            # Rare characters are left to the bytes where there are any.
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
            num_threads=16,  # sums are made in this order, whatever the machine: part of being deterministic
            minloglevel=2,
        )
    except RuntimeError as error:
        # sentencepiece's own words hold its source lines and options that are not ours.
        if "sentences_.empty()" in str(error):
            raise UserError("no text to make a vocabulary from: every line is empty") from None
        if needed := re.search(r"required_chars\. \d+ vs (\d+)", str(error)):
            least = int(needed[1])
        elif "vocab_size" in str(error):
            least = 4 + 256 * policy.byte_fallback + len(tags) + len(symbols) + 1
        else:
            raise
        raise UserError(f"a vocabulary of {policy.size} is too small for this text; ask for {least} or more") from None
    return written.getvalue()
