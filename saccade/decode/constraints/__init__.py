"""How a search meets the constraints on a translation."""
