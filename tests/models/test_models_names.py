"""From names to models; nothing is imported, asked or loaded by it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kit import child_environment
from memassay.core.errors import DataError, UsageError
from memassay.models.anthropic import AnthropicModel
from memassay.models.names import open_model
from memassay.models.openai import OpenAIModel


@pytest.mark.parametrize(
    ("name", "kind", "asked"),
    [
        ("anthropic/claude-sonnet-5-5", AnthropicModel, "claude-sonnet-5-5"),
        ("claude-sonnet-5-5", AnthropicModel, "claude-sonnet-5-5"),
        ("openai/gpt-4.1", OpenAIModel, "gpt-4.1"),
        ("openai/claude-like", OpenAIModel, "claude-like"),
        ("openai/meta/llama", OpenAIModel, "meta/llama"),
        ("gpt-4.1", OpenAIModel, "gpt-4.1"),
        ("meta-llama/Llama-3.1-8B", OpenAIModel, "meta-llama/Llama-3.1-8B"),
        ("qwen3:8b", OpenAIModel, "qwen3:8b"),
    ],
)
def test_a_name_says_the_provider(name: str, kind: type, asked: str) -> None:
    model = open_model(name)
    assert type(model) is kind and model.name == asked and model.kind == "real"


@pytest.mark.parametrize("name", ["", "anthropic/", "openai/", "scripted/", "/x"])
def test_half_a_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError):
        open_model(name)


def test_options_are_those_of_the_class() -> None:
    assert open_model("gpt-4.1", scripted=True, base_url=None).kind == "scripted"
    with pytest.raises(UsageError, match=r"no setting 'base_uri'.*base_url"):
        open_model("gpt-4.1", base_uri="http://127.0.0.1:1")
    with pytest.raises(UsageError, match="'native' or 'prompt'"):
        open_model("gpt-4.1", structured="yes")


def test_a_key_is_no_option() -> None:
    with pytest.raises(UsageError, match="no setting 'api_key'"):
        open_model("gpt-4.1", api_key="dummy-local")


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"There is no model file .*none\.gguf"):
        open_model(f"local/{tmp_path}/none.gguf")
    with pytest.raises(DataError, match=r"none\.json cannot be read"):
        open_model(f"scripted/{tmp_path}/none.json")


def test_opening_a_model_imports_no_provider(own_home: Path) -> None:
    script = (
        "import sys; from memassay.models.names import open_model; from memassay.agents.api import Api; "
        "open_model('claude-x'); Api(model='gpt-x'); "
        "print([m for m in ('anthropic', 'openai', 'llama_cpp', 'mcp') if m in sys.modules])"
    )
    start = [sys.executable, "-c", script]
    done = subprocess.run(start, env=child_environment(own_home), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
