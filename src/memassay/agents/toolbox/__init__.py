"""Tools for agents that we drive ourselves: those of a memory's server, and files of a folder.

::

    async with open_toolbox(request.toolset) as box:
        box.tools                                   # what to tell the model: names, descriptions, schemas
        result = await box.call("search", {"query": "tea"})
"""

from __future__ import annotations

from memassay.agents.toolbox.box import Toolbox, ToolResult, ToolSpec, open_toolbox, require_mcp
from memassay.agents.toolbox.problems import ToolsMissing

__all__ = ["ToolResult", "ToolSpec", "Toolbox", "ToolsMissing", "open_toolbox", "require_mcp"]
