"""An embedded knowledge graph in Markdown: pages that a person keeps, links between them, an index on disk."""
