"""The tour: what `saccade try` shows of the built-in task, and how well a model does on each part of it."""
