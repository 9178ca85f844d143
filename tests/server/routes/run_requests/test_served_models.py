"""The catalogue of models: what stands behind a name, and where its key is."""

from typing import Any

import pytest

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
    assert (big.name, big.key) == ("vllm/meta/big@http://10.0.0.2/v1", "TWO")
    assert (small.asked, small.name, small.key) == ("house/a/small", "openai/a/small@http://10.0.0.1/v1", "ONE")


def test_what_the_operator_names_may_be_a_file_and_what_people_name_may_not() -> None:
    catalogue = Catalogue(
        settings({"name": "builtin/*"}, {"name": "house/told", "served_as": "builtin/scripted:/s.json"})
    )
    assert catalogue.resolve("house/told", ANN).name == "builtin/scripted:/s.json"
    assert catalogue.resolve("builtin/random", ANN).name == "builtin/random"
    with pytest.raises(Refusal, match="cannot be run here") as refused:
        catalogue.resolve("builtin/scripted:/s.json", ANN)
    assert refused.value.status == 422


def test_keys_are_lent_to_the_variables_of_providers_but_never_replace_one() -> None:
    catalogue = Catalogue(
        settings(
            {"name": "house/x", "served_as": "openai/x", "key": "HOUSE_KEY"},
            {"name": "groq/y", "key": "OUR_GROQ_KEY"},
            {"name": "together/z", "key": "UNSET"},
        )
    )
    variables = {"HOUSE_KEY": "one", "OUR_GROQ_KEY": "two", "GROQ_API_KEY": "own"}
    catalogue.lend_keys(variables)
    assert variables == {"HOUSE_KEY": "one", "OUR_GROQ_KEY": "two", "GROQ_API_KEY": "own", "OPENAI_API_KEY": "one"}


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
