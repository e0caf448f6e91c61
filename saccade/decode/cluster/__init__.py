"""Corpora that one machine would take too long for: `saccade translate --ray` translates their parts on Ray Data."""
