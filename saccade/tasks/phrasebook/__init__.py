"""`phrasebook`: English, French, German and Chinese sentences from one synchronous grammar, with gold word alignment.

An abstract tree (`tree`) is drawn at random (`phrases`, `sampler`, `homograph`) from the lexicon (the tables in
`words/`, read by `lexicon`; `combinations` decides which words go together) and put into words by each language
(`writer`, `english`, `french`, `german`, `chinese`). Words of two languages that express the same meaning are linked.

- Spelling: lower case, except for German nouns, *I*, *Olympic* and English names of days; a full stop at the end, in
  the form of the language; no spaces in Chinese. `saccade.text.words` finds exactly the words of the grammar, so a
  Chinese word of two characters counts as two words, each with its links.
- One source has one target, in every direction, unless an ambiguous word has lost its cue. No language expresses what
  another one cannot: *you* is one person, *her* is no object, possessives are singular.
- Length counts the words of the source, including the full stop.
- Splits hold out combinations of words, never words: see `combinations`.
- Everyday sentences (*I love you.*), which the grammar cannot make, are a table: see `everyday`.
- Ambiguous English words (*bank*, *bat*, *spring* …) and their cues: see `homograph`.
"""

from saccade.tasks.phrasebook.task import Phrasebook as Phrasebook
