"""`saccade get`: public data sets, downloaded when the user asks for them, and never otherwise.

`table` says what there is, `download` and `archives` fetch and unpack, `conversion` writes files to train on, `record`
remembers checksums, and `getting` does all of it in order.
"""
