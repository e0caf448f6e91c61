"""Constraints on the text of a translation: their options, and how a search meets them."""
