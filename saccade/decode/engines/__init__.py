"""Engines that search faster than PyTorch, and the export of models to them."""
