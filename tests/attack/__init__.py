"""A repeatable attack on the program: mutated inputs, kills at random moments, and two writers of one place.

    python -m tests.attack --seed 7                       # all campaigns, and a table of tries and failures
    python -m tests.attack --seed 7 --only fuzz:1234      # one try again, with what it said

Every try is drawn from the seed and its own number alone, so that one that failed can be repeated by itself.
"""
