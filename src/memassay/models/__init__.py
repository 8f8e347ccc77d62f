"""Language models behind one small protocol: Anthropic, OpenAI-compatible, local, scripted."""
