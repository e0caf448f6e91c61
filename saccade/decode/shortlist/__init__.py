"""The tokens that could translate a sentence, so that a search scores these alone."""
