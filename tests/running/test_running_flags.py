"""What flags mean for agents, judges and line-ups, and the sentence where they mean nothing."""

from __future__ import annotations

from typing import Any

import pytest

from memassay.core.errors import UsageError
from memassay.core.registry import bind_options
from memassay.models.access import Access
from memassay.running.contenders import agent_settings, contenders
from memassay.running.estimate import dollars
from memassay.running.experiment import apply_settings, experiment_of, judge_entry
from memassay.running.presets import check_stores, preset_entries

LEXICAL = {"lexical": {"use": "lexical"}}


def refused(**tables: Any) -> str:
    with pytest.raises(UsageError) as raised:
        contenders(experiment_of({"suite": "locomo", "memories": LEXICAL, **tables}))
    assert "\n" not in str(raised.value)
    return str(raised.value)


# -- agents --------------------------------------------------------------------------------------------------------


def test_an_agent_that_asks_a_model_says_how_to_name_one() -> None:
    for agent in ("api", "claude-code"):
        assert refused(agent=agent) == f"Agent {agent!r} needs the setting 'model': name one with --model."


def test_an_agent_without_a_model_says_to_leave_it_out() -> None:
    said = refused(agent="extractive", agent_options={"model": "x"})
    assert said == "Agent 'extractive' has no model; leave --model out."
    assert "--set agent.path=FILE" in refused(agent="local", agent_options={"model": "x"})


def test_an_unknown_agent_is_told_those_that_there_are_and_not_the_internal_one() -> None:
    known = "Known: api, claude-code, extractive, local, reference, rules, scripted, scripted-lifecycle."
    assert refused(agent="nope") == f"Unknown agent 'nope'. {known}"
    assert refused(agent="extractiv") == "Unknown agent 'extractiv'. Did you mean 'extractive'?"
    assert "./file.py:ClassName" in refused(agent="mine.py"), "the registry's own hint stays"


def test_files_for_claude_code_name_the_profile_that_reads_them() -> None:
    arms = {"fs": {"use": "files/folder"}}
    said = refused(agent="claude-code", agent_options={"model": "claude-opus-4-8"}, memories=arms)
    assert said.startswith(
        "Agent 'claude-code' cannot use 'folder', which arm 'fs' gives it; it can use dossier, tools"
    )
    assert said.endswith("add --set agent.profile=scoped.")


@pytest.mark.parametrize(
    ("tables", "says"),
    [
        ({"agent_options": {"model": "x"}}, "--model needs an agent; name one with --agent: --agent api asks a model."),
        ({"repetitions": 2}, "--repetitions needs an agent; name one with --agent: --agent extractive needs no key."),
        ({"judges": [{"model": "m"}], "repetitions": 2}, "--judge and --repetitions need an agent"),
        ({"agent_options": {"text": "x"}}, "--set agent.… needs an agent"),
    ],
)
def test_what_belongs_to_an_agent_names_itself(tables: dict[str, Any], says: str) -> None:
    assert says in refused(**tables)


def test_an_address_without_its_scheme_is_echoed_as_it_was_typed() -> None:
    options = {"model": "m", "base_url": "127.0.0.1:18733"}
    assert "not '127.0.0.1:18733'." in refused(agent="api", agent_options=options)
    assert "hidden" not in refused(agent="api", agent_options={"model": "m", "base_url": "me:hidden@host:1?key=abc"})
    with pytest.raises(UsageError, match=r"not 'host:1'\.$"):
        Access("me:hidden@host:1?key=abc", "NO_SUCH_VARIABLE", "https://example.org", "NO_SUCH_KEY")


# -- settings ------------------------------------------------------------------------------------------------------


def takes(*, text: str = "", maybe: str | None = None, number: float = 0.0, whole: int = 0, flag: bool = False) -> None:
    """Settings of some types."""


@pytest.mark.parametrize("typed", ["2022", "2022.0", "1e3", "1.50", "true", "-0", "NaN", "007", "2022 May"])
def test_a_number_for_a_text_is_the_text_as_typed(typed: str) -> None:
    table: dict[str, Any] = {}
    apply_settings({}, [f"agent.text={typed}", f"agent.maybe={typed}"], {"agent": table})
    bound = bind_options(takes, table, "agent 'x'")
    assert (bound["text"], bound["maybe"]) == (typed, typed)


def test_a_number_stays_a_number_where_one_is_asked_for() -> None:
    table: dict[str, Any] = {}
    apply_settings({}, ["agent.number=1e3", "agent.whole=3", "agent.flag=true"], {"agent": table})
    bound = bind_options(takes, table, "agent 'x'")
    assert (bound["number"], bound["whole"], bound["flag"]) == (1000.0, 3, True)
    with pytest.raises(UsageError, match=r"Setting 'whole'.*got 3\.5"):
        bind_options(takes, {"whole": 3.5}, "agent 'x'")
    for odd in (float("nan"), "1e999"):
        with pytest.raises(UsageError, match=r"Setting 'number' of the agent 'x': give a finite number"):
            bind_options(takes, {"number": odd}, "agent 'x'")


def test_the_scripted_agent_says_a_year() -> None:
    options: dict[str, Any] = {}
    apply_settings({}, ["agent.text=2022"], {"agent": options})
    made = experiment_of({"suite": "locomo", "memories": LEXICAL, "agent": "scripted", "agent_options": options})
    assert agent_settings(made)["text"] == "2022"


# -- judges --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("strict:gpt-4o", "Did you mean binary:gpt-4o?"),
        ("judge:gpt-4o", "Did you mean binary:gpt-4o?"),
        ("Generous:openai/x", "Did you mean lenient:openai/x?"),
        ("strict:", "Did you mean binary:MODEL?"),
        ("answers:gpt-4o", "'answers' asks no model"),
        ("lenient:", "binary:MODEL (the same) or lenient:MODEL"),
    ],
)
def test_a_judge_by_another_name(text: str, says: str) -> None:
    with pytest.raises(UsageError) as raised:
        judge_entry(text)
    assert says in str(raised.value)


def test_a_colon_in_the_name_of_a_model_is_none_of_a_judge() -> None:
    assert judge_entry("qwen2:0.5b") == judge_entry("binary:qwen2:0.5b") == {"use": "binary", "model": "qwen2:0.5b"}
    assert judge_entry("llama:latest") == {"use": "binary", "model": "llama:latest"}


# -- line-ups ------------------------------------------------------------------------------------------------------


def test_arms_of_ones_own_stand_after_those_of_a_line_up() -> None:
    whole = preset_entries("iwe-2026", "hotpotqa")
    more = preset_entries("iwe-2026", "hotpotqa", ["lexical,mine=markdown/tools", "./a.py:B"])
    assert list(more) == [*whole, "lexical", "mine", "B"]
    assert more["mine"] == {"use": "markdown/tools"}
    assert list(preset_entries("iwe-2026", "hotpotqa", ["fs", "lexical"])) == ["fs", "lexical"]
    with pytest.raises(UsageError, match=r"no arm 'ctxx' for 'hotpotqa', and no memory is called so. Did you mean"):
        preset_entries("iwe-2026", "hotpotqa", ["ctxx"])


def test_arms_without_their_store_are_named_with_all_others() -> None:
    entries = preset_entries("iwe-2026", "locomo")
    with pytest.raises(UsageError) as raised:
        check_stores(entries)
    assert str(raised.value) == (
        "curated, curated-fs, curated-q, curated-ctx: a finished store is read there; give one with --store DIR, or "
        "leave them out: --arm fs,iwe,fs-iwe,full-context."
    )
    for entry in entries.values():
        entry["store"] = "x"
    check_stores(entries)
    with pytest.raises(UsageError, match=r"--store DIR\.$"):
        check_stores({"curated": {"use": "curated"}})


# -- money ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "not known"), (0.0, "0"), (0.0000123, "0.000012"), (0.04, "0.040"), (0.5, "0.50"), (1234.5, "1,234.50")],
)
def test_an_amount_has_digits_enough(value: float | None, shown: str) -> None:
    assert dollars(value) == shown
