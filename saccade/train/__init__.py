"""Training: recipes, learners, the loop, and its log."""
