"""Training: recipes, the loop, and what it says."""
