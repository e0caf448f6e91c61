"""`phrasebook`: English, French, German and Chinese sentences from one synchronous grammar, with gold word alignment.

An abstract tree (`tree`) is drawn at random (`phrases`, `sampler`, `homograph`) from the lexicon (`words/*.tsv`, read
by `lexicon`; what goes with what is in `choices`) and put into words by each language (`english`, `french`, `german`,
`chinese`). Words of two languages that express the same part of the tree are linked.

- Spelling: lower case throughout, but for German nouns, *I*, *Olympic* and English names of days; a full stop at the
  end, of the language's own kind; no spaces in Chinese. `saccade.text.words` finds exactly the words the grammar made,
  so a Chinese word of two characters has two, each with its links.
- One source has one target, in every direction, unless an ambiguous word has lost its cue. What one language does not
  tell apart is said in none: *you* is one person, *her* is no object, possessives are singular.
- Length counts words of the source, the full stop among them; `pairs` keeps to the range one gives.
- Splits hold out combinations of words, never words: see `split`.
- Ambiguous English words (*bank*, *bat*, *spring* …) and their cues: see `homograph`.
"""

from saccade.tasks.phrasebook.book import Phrasebook

__all__ = ["Phrasebook"]
