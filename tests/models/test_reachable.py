"""Models that lie behind an address: where programs' calls are passed on to, and what they cost."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mesocosm.core.ports import Model
from mesocosm.core.proxy import Reachable, Upstream
from mesocosm.core.usage import Usage

Opened = Callable[..., Model]
MILLION = Usage(1_000_000, 1_000_000, calls=1)


def upstream(model: Model) -> Upstream:
    assert isinstance(model, Reachable)
    return model.upstream


async def test_openai_compatible_models_lie_where_they_are_asked(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GROQ_API_KEY", "the-key")
    assert upstream(opened("groq/llama")) == Upstream("openai", "https://api.groq.com/openai/v1", "the-key", "llama")
    local = upstream(opened("vllm/m@http://127.0.0.1:9/v1"))
    assert (local.base_url, local.key) == ("http://127.0.0.1:9/v1", "")
    assert "the-key" not in repr(upstream(opened("groq/llama")))


@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "http://127.0.0.1:9/", "http://127.0.0.1:9/v1"])
async def test_anthropic_lies_at_its_root(opened: Opened, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "the-key")
    public = upstream(opened("anthropic/claude"))
    assert public == Upstream("anthropic", "https://api.anthropic.com", "the-key", "claude")
    assert upstream(opened(f"anthropic/claude@{url}")).base_url == "http://127.0.0.1:9"
    monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
    assert upstream(opened("litellm/anthropic/claude")).base_url == "http://127.0.0.1:9"


async def test_what_a_call_cost_is_said_where_the_price_is_known(
    opened: Opened, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    prices = tmp_path / "prices.json"
    prices.write_text(
        '{"openai/m": {"input": 2, "output": 3, "as_of": "2026-01-01"},'
        ' "anthropic/m": {"input": 4, "output": 5, "as_of": "2026-01-01"}}'
    )
    monkeypatch.setenv("MESOCOSM_PRICES", str(prices))
    for name, cost in (("openai/m", 5.0), ("anthropic/m", 9.0), ("groq/unheard-of", None)):
        model = opened(name)
        assert isinstance(model, Reachable)
        assert model.priced(MILLION).cost_usd == cost


async def test_others_are_asked_through_the_engine(opened: Opened, tmp_path: Path) -> None:
    cached = opened("vllm/m@http://127.0.0.1:9/v1", cache=str(tmp_path / "cache"))
    for model in (cached, opened("ollama/m"), opened("builtin/random"), opened("gemini/m")):
        assert not isinstance(model, Reachable)
