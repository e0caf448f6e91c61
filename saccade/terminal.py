"""Text from elsewhere (corpora, file names, model folders) as a terminal may show it.

Data stay as they are: what goes to a file or a pipe is exactly the text. What is shown to people, in messages, tables,
logs and heatmaps, and data that happen to go to a terminal, pass through `printable`.
"""

import re

# C0 and C1 controls with ESC and DEL; line and paragraph separators; characters that reorder what stands around them
# (bidirectional embeddings, overrides and isolates); halves of surrogate pairs, which cannot be encoded at all. Letters
# of right-to-left scripts need none of these.
_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str, *, keep: str = "") -> str:
    """`text` with every character that would command a terminal written out, such as \\x1b; those of `keep` stay."""
    return _UNSAFE.sub(
        lambda found: found[0] if found[0] in keep else found[0].encode("unicode_escape").decode("ascii"), text
    )
