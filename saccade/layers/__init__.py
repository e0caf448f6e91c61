"""The layers that models share: embeddings, recurrent units, the Transformer's blocks."""
