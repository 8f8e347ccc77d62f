"""Claude Code headless as an agent: the user's own ``claude``, isolated, limited, and believed only after a check."""
