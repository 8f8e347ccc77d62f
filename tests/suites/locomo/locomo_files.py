"""Small pieces in LOCOMO's file format."""

from __future__ import annotations

from typing import Any

Turn = dict[str, Any]


def turn(dia_id: str, text: str = "Hello there.", **more: Any) -> Turn:
    return {"speaker": "Ada", "dia_id": dia_id, "text": text, **more}


def question(text: str = "What?", **more: Any) -> dict[str, Any]:
    return {"question": text, "answer": "that", "evidence": ["D1:1"], "category": 4, **more}


def conversation(name: str = "conv-1", qa: list[Any] | None = None, **sessions: list[Turn]) -> dict[str, Any]:
    """A conversation in the file's format; session N is dated the Nth of May."""
    talk: dict[str, Any] = {"speaker_a": "Ada", "speaker_b": "Bo"}
    for key, turns in (sessions or {"session_1": [turn("D1:1")]}).items():
        talk[key] = turns
        talk[f"{key}_date_time"] = f"1:09 pm on {key.rpartition('_')[2]} May, 2023"
    return {"sample_id": name, "conversation": talk, "qa": [question()] if qa is None else qa}
