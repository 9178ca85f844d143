"""Open a model by name. No other module does so."""

from collections.abc import Callable

from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.core.model import ModelName, ModelSettings
from mesocosm.core.ports import Model
from mesocosm.core.registry import MODELS, fold, suggestion
from mesocosm.models.endpoint import NATIVE, PROVIDERS, configured, endpoint, is_loopback

IN_PROCESS = frozenset({"builtin", "replay"})
"""Providers that run in this process: nothing is sent, so nothing is cached."""


def open_model(settings: ModelSettings) -> Model:
    """Return the model that `settings` name, behind the response cache if they name one.

    An unregistered provider is treated as OpenAI-compatible if it has a base URL, and is otherwise left to LiteLLM.
    Raises UsageError (UnknownName with a suggestion, a missing package, an unusable address) and InfrastructureError
    for a cache that cannot be used.
    """
    name = ModelName.parse(settings.name)
    model: Model = _factory(name)(settings)
    if settings.cache and name.provider not in IN_PROCESS:
        from mesocosm.models.cache import CachedModel

        return CachedModel(model, settings, address(name))
    return model


def _factory(name: ModelName) -> Callable[[ModelSettings], Model]:
    if _registered(name.provider):
        factory: Callable[[ModelSettings], Model] = MODELS.get(name.provider)
        return factory
    if name.base_url or configured(name.provider):
        from mesocosm.models import openai

        return openai.open_model
    from mesocosm.models import litellm

    if litellm.knows(name.provider):
        return litellm.open_model
    remedy = "" if litellm.installed() else f". Many more providers come with LiteLLM; {litellm.INSTALL}"
    hint = suggestion(name.provider, _known())
    hint += "" if hint.endswith("?") else "."
    raise UnknownName(
        f"no model provider is called {name.provider!r}{hint} A server that speaks the "
        f"OpenAI protocol is written {name.provider}/{name.model}@http://HOST:PORT/v1{remedy}"
    )


def require_provider(name: ModelName) -> None:
    """Raise UnknownName, with a suggestion, if `name` has an unknown provider."""
    _factory(name)


def _known() -> list[str]:
    # The entry "*" is this module itself, through which the engine opens models of any provider.
    return [entry.name for entry in MODELS.entries() if entry.name != "*"]


def _registered(provider: str) -> bool:
    return fold(provider) in {fold(name) for name in _known()}


def address(name: ModelName) -> str:
    """Return the URL that requests for `name` are sent to; empty if it is not known here."""
    if name.provider == "ollama":
        from mesocosm.models import ollama

        return ollama.base_url(name)
    if name.base_url:
        return name.base_url
    if name.provider in {*PROVIDERS, *NATIVE, "google"} or (
        configured(name.provider) and not _registered(name.provider)
    ):
        return endpoint(name).base_url
    return ""


def is_local(name: ModelName) -> bool:
    """Return whether nothing that is sent to this model leaves the machine.

    This holds for `builtin/` and `replay/`, and for any loopback address, whether given by the name, the environment or
    the provider's default, but not for models that Ollama forwards to its cloud.
    """
    if name.provider in IN_PROCESS:
        return True
    if name.provider == "ollama":
        from mesocosm.models import ollama

        if ollama.runs_elsewhere(name.model):
            return False
    try:
        return is_loopback(address(name))
    except UsageError:
        return False
