"""Published line-ups of arms, under the names of the study that they are from.

``preset_entries("iwe-2026", suite, chosen) -> {arm: {"use": "MEMORY/ACCESS", ...}}``
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from memassay.core import registry
from memassay.core.errors import UnknownName, UsageError, suggestion
from memassay.running.experiment import memory_entries

_TALK: Mapping[str, Mapping[str, Any]] = {
    "fs": {"use": "files/folder", "layout": "pages", "role": "baseline"},
    "iwe": {"use": "iwe/tools"},
    "fs-iwe": {"use": "iwe/tools+folder"},
    "full-context": {"use": "full-context/dossier"},
    "curated": {"use": "curated/tools"},
    "curated-fs": {"use": "curated/folder", "engine": "markdown"},  # files alone need no iwe
    "curated-q": {"use": "curated/tools", "query": True},
    "curated-ctx": {"use": "curated/dossier"},
}
_PAGES: Mapping[str, Mapping[str, Any]] = {
    "ctx": {"use": "iwe/dossier", "seeds": 10, "inbound": True},
    "ctx-anchors": {"use": "iwe/dossier", "seeds": 10, "inbound": True, "anchors": True},
    "fs": {"use": "files/folder", "layout": "pages", "role": "baseline"},
}
PRESETS: Mapping[str, Mapping[str, Mapping[str, Mapping[str, Any]]]] = {
    "iwe-2026": {"locomo": _TALK, "hotpotqa": _PAGES},
}

# A whole conversation of LOCOMO has up to some 26,000 tokens: with less, full-context would not be that.
_BUDGETS: Mapping[tuple[str, str], tuple[int, ...]] = {("iwe-2026", "locomo"): (1000, 2000, 4000, 8000, 12000, 32000)}


def preset_budgets(name: str, suite: str) -> tuple[int, ...] | None:
    """The context budgets that a line-up needs, or None where the usual ones do."""
    return _BUDGETS.get((name, suite))


def preset_entries(name: str, suite: str, chosen: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    """The arms of a line-up for a suite, or those of them that are chosen, and the user's own after them.

    Args:
        name: the line-up.
        suite: the suite that is run.
        chosen: names of its arms, and arms of the user's own, each text comma-separated; without a name of its arms it
            is the whole line-up.

    Raises:
        UnknownName, UsageError: no such line-up, none for this suite, neither an arm of it nor a memory.
    """
    if name not in PRESETS:
        raise UnknownName("preset", name, PRESETS)
    suites = PRESETS[name]
    if suite not in suites:
        raise UsageError(
            f"The preset {name!r} has no arms for the suite {suite!r}; it has some for {', '.join(suites)}."
        )
    arms = suites[suite]
    words = [word.strip() for text in chosen for word in text.split(",")]
    own = memory_entries(",".join(words)) if words else {}
    for word, entry in own.items():
        base = registry.with_access(str(entry["use"]))[0]
        if word not in arms and not registry.is_file(base) and base not in registry.memories.names():
            known = [*arms, *registry.memories.names()]
            raise UsageError(
                f"The preset {name!r} has no arm {word!r} for {suite!r}, and no memory is called so."
                f"{suggestion(word, known)}"
            )
    wanted = [word for word in own if word in arms] or list(arms)
    return {arm: dict(arms[arm]) for arm in wanted} | {n: entry for n, entry in own.items() if n not in arms}


def give_store(entries: Mapping[str, dict[str, Any]], folder: Path) -> None:
    """Give a folder of finished stores to every arm that takes one.

    Raises:
        UsageError: it is no folder, or no arm takes a store.
    """
    if not folder.is_dir():
        raise UsageError(f"--store {str(folder)!r} is no folder; give one with a folder of pages per conversation.")
    takers = [entry for entry in entries.values() if _takes_store(entry)]
    if not takers:
        raise UsageError("--store is for the arms that take a finished store; add one, such as --arm curated/dossier.")
    for entry in takers:
        entry.setdefault("store", str(folder))


def give_semantic(entries: Mapping[str, dict[str, Any]]) -> None:
    """Turn the rule on embeddings on in every arm whose memory has one.

    Raises:
        UsageError: none has.
    """
    takers = [entry for entry in entries.values() if _has_setting(entry, "semantic")]
    if not takers:
        raise UsageError("--semantic is for memories that link by embeddings; of this run none does (graph does).")
    for entry in takers:
        entry["semantic"] = True


def _has_setting(entry: Mapping[str, Any], name: str) -> bool:
    base = registry.with_access(str(entry.get("use", "")))[0]
    return name in inspect.signature(registry.memories.get(base)).parameters


def check_stores(entries: Mapping[str, dict[str, Any]]) -> None:
    """Refuse arms that read a store of the user's and have none.

    Raises:
        UsageError: there are some, with the names of all others.
    """
    lacking = [name for name, entry in entries.items() if _takes_store(entry) and "store" not in entry]
    others = [name for name in entries if name not in lacking]
    if lacking:
        without = f", or leave them out: --arm {','.join(others)}" if others else ""
        raise UsageError(f"{', '.join(lacking)}: a finished store is read there; give one with --store DIR{without}.")


def _takes_store(entry: Mapping[str, Any]) -> bool:
    return registry.with_access(str(entry.get("use", "")))[0] == "curated"
