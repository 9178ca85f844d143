"""What every test starts from: no variables of the person who runs them."""

import os

import pytest

KEPT = ("MESOCOSM_TEST_",)


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove every variable that would change what our code does."""
    prefixes = ("MESOCOSM_", "OLLAMA_", "SWECC_", "BENCH_", "OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_API")
    for name in list(os.environ):
        if name.startswith(prefixes) and not name.startswith(KEPT):
            monkeypatch.delenv(name)
    # What plays on a terminal would start a viewer that outlives the test.
    monkeypatch.setenv("MESOCOSM_NO_VIEW", "1")
