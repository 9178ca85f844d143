"""The catalogue of models: what stands behind a name, and where its key is."""

from collections.abc import Iterator
from typing import Any

import pytest

from mesocosm.core.failure import UsageError
from mesocosm.core.model import ModelName, ModelRequest, ModelSettings
from mesocosm.models.endpoint import assign_keys, endpoint
from mesocosm.models.litellm import LiteLLMModel
from mesocosm.server.auth.principal import Kind, Principal
from mesocosm.server.model_catalogue import Catalogue
from mesocosm.server.refusal import Refusal
from mesocosm.server.settings import Settings, read_settings

ANN = Principal(Kind.MEMBER, user_id=1, username="ann")


def settings(*models: dict[str, Any], **given: Any) -> Settings:
    """Return settings with these models."""
    return read_settings(models=models, workers=0, **given)


def test_an_exact_name_goes_before_a_pattern_and_a_pattern_takes_the_rest() -> None:
    catalogue = Catalogue(
        settings(
            {"name": "house/*", "served_as": "openai/*@http://10.0.0.1/v1", "key": "ONE"},
            {"name": "house/big", "served_as": "vllm/meta/big@http://10.0.0.2/v1", "key": "TWO"},
        )
    )
    big, small = catalogue.resolve("house/big", ANN), catalogue.resolve(" house/a/small ", ANN)
    assert big.name == "vllm/meta/big@http://10.0.0.2/v1"
    assert (small.asked, small.name) == ("house/a/small", "openai/a/small@http://10.0.0.1/v1")


def test_what_the_operator_names_may_be_a_file_and_what_people_name_may_not() -> None:
    catalogue = Catalogue(
        settings({"name": "builtin/*"}, {"name": "house/told", "served_as": "builtin/scripted:/s.json"})
    )
    assert catalogue.resolve("house/told", ANN).name == "builtin/scripted:/s.json"
    assert catalogue.resolve("builtin/random", ANN).name == "builtin/random"
    with pytest.raises(Refusal, match="cannot be run here") as refused:
        catalogue.resolve("builtin/scripted:/s.json", ANN)
    assert refused.value.status == 422


@pytest.fixture
def assigned() -> Iterator[None]:
    """Keys may be assigned, as in a worker."""
    yield
    assign_keys({})


@pytest.mark.usefixtures("assigned")
@pytest.mark.parametrize(
    ("asked", "key"),
    [
        ("openai/gpt-4o", "ours"),
        ("openai/gpt-5", "the other"),
        ("house/llama", "of the house"),
        ("house/open", ""),
        ("lab/a/b", "of the lab"),
        ("groq/y", "own"),
    ],
)
def test_each_model_gets_the_key_that_its_entry_names(monkeypatch: pytest.MonkeyPatch, asked: str, key: str) -> None:
    keys = {"OPENAI_API_KEY": "ours", "OTHER": "the other", "HOUSE": "of the house", "LAB": "of the lab"}
    for variable, value in {**keys, "GROQ_API_KEY": "own"}.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.delenv("MESOCOSM_API_KEY", raising=False)
    catalogue = Catalogue(
        settings(
            {"name": "openai/gpt-4o", "key": "OPENAI_API_KEY"},
            {"name": "openai/gpt-5", "key": "OTHER"},
            {"name": "house/llama", "served_as": "OpenAI/llama@http://10.0.0.1/v1/", "key": "HOUSE"},
            {"name": "house/open", "served_as": "openai/open@http://10.0.0.2/v1"},
            {"name": "lab/*", "served_as": "openai/*@http://10.0.0.3/v1", "key": "LAB"},
            {"name": "groq/*"},
        )
    )

    catalogue.assign_keys()

    assert endpoint(ModelName.parse(catalogue.resolve(asked, ANN).name)).key == key


@pytest.mark.usefixtures("assigned")
@pytest.mark.parametrize("served", ["anthropic/claude-sonnet-4-6", "mistral/x@http://10.0.0.1/v1"])
async def test_litellm_gets_the_key_of_the_entry_and_looks_for_no_other(
    monkeypatch: pytest.MonkeyPatch, served: str
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "of somebody else")
    monkeypatch.setenv("MISTRAL_API_KEY", "of somebody else")
    monkeypatch.setenv("OURS", "sk-ours-and-ours-alone")
    name = ModelName.parse(served)
    Catalogue(settings({"name": served, "key": "OURS"})).assign_keys()
    assert LiteLLMModel(name, ModelSettings(served))._transport(ModelRequest([]))["api_key"] == "sk-ours-and-ours-alone"

    monkeypatch.delenv("OURS")

    assert LiteLLMModel(name, ModelSettings(served))._transport(ModelRequest([]))["api_key"] == "none"


@pytest.mark.usefixtures("assigned")
async def test_a_model_of_litellm_whose_key_is_not_set_names_the_variable_of_its_entry(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("OURS", raising=False)
    Catalogue(settings({"name": "anthropic/claude-sonnet-4-6", "key": "OURS"})).assign_keys()
    model = LiteLLMModel(ModelName.parse("anthropic/claude-sonnet-4-6"), ModelSettings("anthropic/claude-sonnet-4-6"))

    with pytest.raises(UsageError, match="OURS is not set"):
        await model.check()


def test_prices_are_known_free_or_unknown() -> None:
    catalogue = Catalogue(
        settings(
            {"name": "builtin/random"},
            {"name": "openai/gpt-4o"},
            {"name": "openai/x", "served_as": "openai/x@http://10.0.0.1"},
        )
    )
    found = [catalogue.resolve(name, ANN) for name in ("builtin/random", "openai/gpt-4o", "openai/x")]
    assert [(model.priced, model.free) for model in found] == [(True, True), (True, False), (False, False)]


def test_a_full_bench_is_made_of_marked_models_whose_keys_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_KEY", raising=False)
    models = [
        {"name": "a/a", "full_bench": True, "key": "NO_KEY"},
        {"name": "b/b", "full_bench": True},
        {"name": "c/c"},
    ]
    assert Catalogue(read_settings(models=models, workers=1)).full_bench() == ("b/b",)
    assert Catalogue(read_settings(models=models, workers=0)).full_bench() == ("a/a", "b/b")
