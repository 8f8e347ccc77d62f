"""The graph: both directions, steps, cycles, dangling targets, and changes that leave no trace."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memassay.knowledge.graph import Edge, Graph

NODES = st.sampled_from("abcdef")
EDGES = st.lists(st.tuples(NODES, st.sampled_from(["inclusion", "reference"])), max_size=6)


def graph() -> Graph:
    return Graph(
        {
            "index": [("b", "inclusion"), ("a", "inclusion"), ("a", "inclusion"), ("a", "reference")],
            "a": [("b", "reference"), ("gone", "inclusion")],
            "b": [("index", "inclusion"), ("b", "reference")],
        }
    )


def test_edges_are_known_from_both_ends_once_each() -> None:
    links = graph()
    assert links.out("index") == ["a", "b"] and links.out("index", "reference") == ["a"]
    assert links.into("b") == ["a", "b", "index"] and links.into("b", "inclusion") == ["index"]
    assert links.out("gone") == [] and links.into("gone") == ["a"]
    assert links.dangling() == ["gone"]


def test_expansion_goes_so_many_steps_and_ends_in_cycles() -> None:
    links = graph()
    assert links.expand("index") == []
    assert links.expand("index", includes=1) == [("a", 1), ("b", 1)]
    assert links.expand("index", includes=0) == [("a", 1), ("b", 1), ("gone", 2)]
    assert links.expand("index", included_by=1) == [("b", 1)]
    assert links.expand("b", referenced_by=0) == [("a", 1), ("index", 2)]
    assert links.expand("gone", included_by=0, references=1) == [("a", 1), ("index", 2), ("b", 3)]


@given(st.lists(st.tuples(NODES, st.one_of(st.none(), EDGES)), max_size=12))
def test_any_history_gives_the_graph_of_its_last_state(history: list[tuple[str, list[Edge] | None]]) -> None:
    lived, state = Graph(), {}
    for key, edges in history:
        if edges is None:
            lived.drop(key)
            state.pop(key, None)
        else:
            lived.put(key, edges)
            state[key] = edges
    fresh = Graph(state)
    for key in "abcdef":
        for kind in (None, "inclusion", "reference"):
            assert lived.out(key, kind) == fresh.out(key, kind)  # type: ignore[arg-type]
            assert lived.into(key, kind) == fresh.into(key, kind)  # type: ignore[arg-type]
        assert lived.expand(key, includes=0, referenced_by=2) == fresh.expand(key, includes=0, referenced_by=2)
    assert lived.dangling() == fresh.dangling()


def test_a_long_chain_is_walked_without_recursion() -> None:
    chain = Graph({str(n): [(str(n + 1), "inclusion")] for n in range(20_000)})
    assert chain.expand("0", includes=0)[-1] == ("20000", 20_000)
