"""Saccade."""
