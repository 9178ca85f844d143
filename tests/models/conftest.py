"""What all tests of models share: a clean environment and models that are closed afterwards."""

import os
from collections.abc import AsyncIterator, Callable

import pytest

from mesocosm.core.message import Message
from mesocosm.core.model import ModelRequest, ModelSettings, Tool
from mesocosm.core.ports import Model
from mesocosm.models.catalogue import open_model

_SETTINGS = ("_API_KEY", "_BASE_URL", "_API_BASE")


@pytest.fixture(autouse=True)
def no_provider_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.endswith(_SETTINGS) or name in {"OLLAMA_HOST", "MESOCOSM_PRICES"}:
            monkeypatch.delenv(name)


@pytest.fixture
async def opened() -> AsyncIterator[Callable[..., Model]]:
    """Open a model by name and settings; it is closed at the end."""
    models: list[Model] = []

    def open_one(name: str, **settings: object) -> Model:
        models.append(open_model(ModelSettings(name, **settings)))  # type: ignore[arg-type]
        return models[-1]

    yield open_one
    for model in models:
        await model.close()


@pytest.fixture
def hello() -> ModelRequest:
    return ModelRequest([Message("user", "hello")], timeout_s=120.0)


@pytest.fixture
def left_or_right() -> dict[str, object]:
    """The schema of a reply with an action."""
    action = {"type": "string", "enum": ["left", "right"]}
    return {"type": "object", "properties": {"action": action}, "required": ["action"]}


@pytest.fixture
def tool() -> Tool:
    return Tool("look", "look around", {"type": "object", "properties": {"far": {"type": "boolean"}}})
