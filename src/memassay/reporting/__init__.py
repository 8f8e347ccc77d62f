"""What a person reads: Markdown, HTML, charts, one task explained."""
