from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Literal

import pytest

from memassay.core import registry
from memassay.core.errors import UnknownName, UsageError, suggestion
from memassay.core.registry import Registry, bind_options, is_file


class Toy:
    """A toy.

    More words.
    """

    def __init__(
        self,
        *,
        top_k: int = 5,
        mode: Literal["fast", "slow"] = "fast",
        share: float = 0.5,
        loud: bool = False,
        names: tuple[str, ...] = (),
    ) -> None:
        self.settings = (top_k, mode, share, loud, names)


class Needy:
    def __init__(self, place: str, limit: int | None = None) -> None: ...


# -- names ---------------------------------------------------------------------------------------------------------


def test_everything_built_in_is_registered() -> None:
    assert {"files", "full-context", "lexical"} <= set(registry.memories.names())
    assert "noop" in registry.agents.names()
    assert "evidence" in registry.judges.names()
    assert {"custom", "locomo"} <= set(registry.suites.names())


@pytest.mark.parametrize("kind", ["memories", "agents", "judges", "suites"])
def test_every_registered_name_can_be_loaded_and_says_what_it_is(kind: str) -> None:
    found: Registry = getattr(registry, kind)
    for name in found.names():
        assert callable(found.get(name))
        source = found.source(name)
        assert source.origin == "memassay"
        assert source.version
        assert source.summary, f"{kind} {name!r} has no docstring for the list"


@pytest.mark.parametrize(
    ("name", "meant"), [("lexcal", "lexical"), ("file", "files"), ("full_context", "full-context")]
)
def test_did_you_mean(name: str, meant: str) -> None:
    with pytest.raises(UnknownName) as raised:
        registry.memories.get(name)
    assert f"'{meant}'" in str(raised.value)
    assert f"Unknown memory '{name}'" in str(raised.value)
    assert raised.value.exit_code == 2


def test_nothing_close_lists_all() -> None:
    with pytest.raises(UnknownName, match=r"Known: .*files.*lexical"):
        registry.memories.get("zzzzzz")


def test_suggestion_without_any_name() -> None:
    assert "None" in suggestion("x", [])


# -- files of one's own --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("./m.py:Mine", True), ("/a/b c/m.py:Mine", True), ("m.py", False), ("m.py:", False), ("files", False),
     ("m.py:a b", False), ("m.txt:Mine", False)],
)  # fmt: skip
def test_what_names_a_file(name: str, is_one: bool) -> None:
    assert is_file(name) is is_one


def test_a_class_in_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine é.py"
    path.write_text('class Mine:\n    """My own."""\n', encoding="utf-8")
    fresh = Registry("memory", "memassay.memories")
    assert fresh.get(f"{path}:Mine").__name__ == "Mine"
    source = fresh.source(f"{path}:Mine")
    assert source.origin == path.name
    assert source.version.startswith("sha256:")
    assert source.summary == "My own."


def test_two_files_of_one_name_stay_two(tmp_path: Path) -> None:
    fresh = Registry("memory", "memassay.memories")
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "m.py").write_text(f"class Mine:\n    where = {folder!r}\n", encoding="utf-8")
    found = [fresh.get(f"{tmp_path / folder / 'm.py'}:Mine") for folder in ("a", "b")]
    assert [c.where for c in found] == ["a", "b"]  # type: ignore[attr-defined]


def test_editing_the_file_changes_its_version(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    versions = []
    for text in ("class Mine: ...\n", "class Mine:\n    x = 1\n"):
        path.write_text(text, encoding="utf-8")
        versions.append(Registry("memory", "g").source(f"{path}:Mine").version)
    assert versions[0] != versions[1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("class Mne: ...\n", "Did you mean 'Mne'"),
        ("Mine = 3\n", "no class 'Mine'"),
        ("def (:\n", "SyntaxError"),
        ("import not_a_module_at_all\n", "not_a_module_at_all"),
        ("raise RuntimeError('on import')\n", "on import"),
    ],
)
def test_a_file_that_does_not_work_is_one_sentence(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "m.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as raised:
        Registry("memory", "g").get(f"{path}:Mine")
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no file"):
        Registry("memory", "g").get(f"{tmp_path / 'm.py'}:Mine")


# -- settings ------------------------------------------------------------------------------------------------------


def test_defaults_are_filled_in() -> None:
    assert bind_options(Toy, {}, "memory 'toy'") == {
        "top_k": 5, "mode": "fast", "share": 0.5, "loud": False, "names": (),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "name", "value"),
    [
        ({"top_k": "10"}, "top_k", 10),
        ({"share": "0.25"}, "share", 0.25),
        ({"share": 1}, "share", 1.0),
        ({"loud": "true"}, "loud", True),
        ({"mode": "slow"}, "mode", "slow"),
        ({"names": ["a", "b"]}, "names", ("a", "b")),
    ],
)
def test_values_are_converted(given: dict[str, Any], name: str, value: object) -> None:
    assert bind_options(Toy, given, "memory 'toy'")[name] == value


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"topk": 3}, ["no setting 'topk'", "Did you mean 'top_k'", "memory 'toy'"]),
        ({"top_k": "ten"}, ["'top_k'", "'ten'", "integer"]),
        ({"top_k": 2.5}, ["'top_k'", "2.5"]),
        ({"mode": "medium"}, ["'mode'", "fast", "slow", "'medium'"]),
        ({"loud": "perhaps"}, ["'loud'", "'perhaps'"]),
        ({"names": 3}, ["'names'", "3"]),
    ],
)
def test_wrong_settings_are_named(given: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(UsageError) as raised:
        bind_options(Toy, given, "memory 'toy'")
    for word in words:
        assert word in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_setting_without_default_is_asked_for() -> None:
    with pytest.raises(UsageError, match="needs the setting 'place'"):
        bind_options(Needy, {}, "suite 'needy'")
    assert bind_options(Needy, {"place": "here", "limit": None}, "suite 'needy'") == {"place": "here", "limit": None}


def test_a_factory_may_be_a_function() -> None:
    def make(*, size: int = 1) -> int:
        return size

    assert bind_options(make, {"size": "2"}, "x") == {"size": 2}


def test_the_digest_of_a_memory_covers_everything_that_it_is_made_of() -> None:
    """A package that a memory imports and the digest leaves out could change, and old stores would be used again."""
    place = Path(registry.__file__).parents[1]
    used = {
        found
        for name in registry.MADE_OF
        for file in (place / name).rglob("*.py")
        if "memories/platform" not in file.as_posix()
        for found in re.findall(r"^\s*(?:from|import) memassay\.(\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert used <= {*registry.MADE_OF, "version"}
    assert used >= {"core", "knowledge", "retrieval"}


def test_the_digest_of_the_memory_platform_covers_the_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    digested: list[str] = []
    real = registry.digest_file
    monkeypatch.setattr(registry, "digest_file", lambda path: digested.append(path.as_posix()) or real(path))
    registry._code_digest("memassay.memories.platform.memory")
    assert any("/memassay/platform/" in path for path in digested)
    digested.clear()
    registry._code_digest("memassay.memories.lexical")
    assert digested and not any("/memassay/platform/" in path for path in digested)
