from __future__ import annotations

import pytest

from memassay.judging.lineage import family_of


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("claude-sonnet-4-6", "claude"),
        ("anthropic/claude-haiku-4-5-20251001", "claude"),
        ("gpt-4o-2024-08-06", "gpt"),
        ("chatgpt-4o-latest", "gpt"),
        ("o3-mini", "gpt"),
        ("openai/gpt-oss-20b", "gpt"),
        ("google/gemini-2.5-flash", "gemini"),
        ("gemma3:4b", "gemini"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama"),
        ("openai/qwen3-8b", "qwen"),
        ("Qwen/QwQ-32B", "qwen"),
        ("mistralai/Mixtral-8x7B", "mistral"),
        ("deepseek-r1-distill-qwen-7b", "deepseek"),
        ("local/SmolLM2-360M-Instruct-Q8_0.gguf", "smollm"),
        ("acme/one-7b", "acme"),
        ("openai/acme/one-7b", "acme"),
        ("openai/wonder-7b", "wonder"),
        ("wonder", "wonder"),
        ("olmo-2", "olmo"),
        ("123", "model"),
    ],
)
def test_a_name_tells_its_family(model: str, family: str) -> None:
    assert family_of(model) == family
