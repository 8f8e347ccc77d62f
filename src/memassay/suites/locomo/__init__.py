"""Conversational memory: LOCOMO, its defects handled and named."""
