"""The embedded memory platform: a memory with a review queue, in one SQLite file per workspace.

``Platform`` (service.py) is the whole of it as a library; tools.py and rest.py say the same over MCP and HTTP.
"""
