"""What every test starts from: no variables of the person who runs them."""

import itertools
import os

import pytest

KEPT = ("MESOCOSM_TEST_",)

number = itertools.count()


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Remove every variable that would change what our code does."""
    ours = ("MESOCOSM_", "SWECC_", "BENCH_", "OSMOSIS_", "_OSMOSIS_")
    prefixes = (*ours, "OLLAMA_", "OPENAI_", "ANTHROPIC_", "GEMINI_", "GOOGLE_API")
    for name in list(os.environ):
        if name.startswith(prefixes) and not name.startswith(KEPT):
            monkeypatch.delenv(name)
    # What plays on a terminal would start a viewer that outlives the test.
    monkeypatch.setenv("MESOCOSM_NO_VIEW", "1")
    # Rollouts leave their artifacts in the home of the person otherwise.
    artifacts = tmp_path_factory.getbasetemp() / "artifacts" / str(next(number))
    monkeypatch.setenv("_OSMOSIS_ROLLOUT_ARTIFACT_ROOT", str(artifacts))
