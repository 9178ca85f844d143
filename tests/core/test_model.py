"""Names of models."""

import pytest

from mesocosm.core.failure import UsageError
from mesocosm.core.model import ModelName


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ollama/llama3.2", ("ollama", "llama3.2", "")),
        ("openai/my-model@http://127.0.0.1:8001/v1", ("openai", "my-model", "http://127.0.0.1:8001/v1")),
        ("OpenAI/x@http://h/v1/", ("openai", "x", "http://h/v1")),
        ("openrouter/meta/llama@2@https://h", ("openrouter", "meta/llama@2", "https://h")),
        ("builtin/scripted:dir/a file.json", ("builtin", "scripted:dir/a file.json", "")),
        ("replay/../data/recorded@v1.jsonl", ("replay", "../data/recorded@v1.jsonl", "")),
        ("ollama/hf.co/a/b:Q4_K_M", ("ollama", "hf.co/a/b:Q4_K_M", "")),
    ],
)
def test_a_name_is_read_in_its_parts(text: str, expected: tuple[str, str, str]) -> None:
    name = ModelName.parse(text)
    assert (name.provider, name.model, name.base_url) == expected


@pytest.mark.parametrize("text", ["", "llama", "ollama/", "/x", "openai/@http://h"])
def test_anything_else_is_refused_and_the_form_is_shown(text: str) -> None:
    with pytest.raises(UsageError, match=r"provider/name"):
        ModelName.parse(text)
