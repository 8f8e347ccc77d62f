"""Paired questions in eight families: which memory serves your own documents, with a rule fixed beforehand."""
