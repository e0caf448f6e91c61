"""n-gram language models: counting, smoothing, and the files of other programs."""
