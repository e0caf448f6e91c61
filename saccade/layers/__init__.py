"""Layers that the models share: embeddings, recurrent units, convolutions, the Transformer's blocks."""
