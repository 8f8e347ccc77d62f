"""Graders: deterministic ones are judges without a model."""
