"""Word alignment by models that count: IBM models 1 and 2 and the HMM, learnt from pairs of sentences alone."""
