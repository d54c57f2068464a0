"""What importing costs, and what is offered."""

import subprocess
import sys

import pytest

import gateleg.ai

HEAVY = ("numpy", "tokenizers", "safetensors", "xllamacpp", "botocore", "anthropic", "google.genai", "pydantic_ai", "gateleg.engine")


def loaded_by(statement: str) -> list[str]:
    code = f"import sys; {statement}; print(*[name for name in {HEAVY!r} + ('gateleg.ai',) if name in sys.modules])"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_package_does_not_load_this_room() -> None:
    assert loaded_by("import gateleg") == []


def test_heavy_parts_are_loaded_when_they_are_used() -> None:
    assert loaded_by("from gateleg.ai import Models; Models().embeddings()") == ["gateleg.ai"]


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic", "gemini", "bedrock", "ollama"])
def test_chat_with_a_remote_model_needs_no_extra(provider: str) -> None:
    key = "" if provider == "bedrock" else ", key='k'"
    assert loaded_by(f"from gateleg.ai import Models; Models().chat('{provider}:m'{key})") == ["gateleg.ai"]


@pytest.mark.parametrize("name", gateleg.ai.__all__)
def test_everything_that_is_offered_is_there(name: str) -> None:
    assert hasattr(gateleg.ai, name)
