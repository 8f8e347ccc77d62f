"""The graph form of a world: a store of the package ``mushroomdb``, and eleven tools over it."""

from memassay.suites.association.graph.memory import Graph, GraphStore

__all__ = ["Graph", "GraphStore"]
