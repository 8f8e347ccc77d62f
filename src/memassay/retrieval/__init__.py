"""Shared parts of retrieval: words of a text, passages of a document, a BM25 index over passages."""
