"""The scripted Messages API that ``memassay doctor`` uses, under the name that the tests look for."""

from memassay.agents.claude_code.loopback import MessagesServer, Received, Turn

__all__ = ["MessagesServer", "Received", "Turn"]
