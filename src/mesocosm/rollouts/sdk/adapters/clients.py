"""Plain clients of the openai and anthropic packages, bound to the rollout's model.

They are cheap, so create one in each `run`: the slow part of a client, loading certificates, is done only once.
"""

import ssl
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from mesocosm.rollouts.sdk.adapters.address import ambient_address

if TYPE_CHECKING:
    from anthropic import Anthropic, AsyncAnthropic
    from openai import AsyncOpenAI, OpenAI


@cache
def _certificates() -> ssl.SSLContext:
    try:
        import certifi
    except ModuleNotFoundError:
        return ssl.create_default_context()
    return ssl.create_default_context(cafile=certifi.where())


def openai_client(**options: Any) -> "OpenAI":
    """Return a blocking client; `options` are passed to openai.OpenAI. Raises RuntimeError outside a rollout."""
    import openai

    return openai.OpenAI(**_options(options, openai.DefaultHttpxClient, ambient_address().base_url))


def async_openai_client(**options: Any) -> "AsyncOpenAI":
    """Return an async client; `options` are passed to openai.AsyncOpenAI. Raises RuntimeError outside a rollout."""
    import openai

    return openai.AsyncOpenAI(**_options(options, openai.DefaultAsyncHttpxClient, ambient_address().base_url))


def anthropic_client(**options: Any) -> "Anthropic":
    """Return a blocking client; `options` are passed to anthropic.Anthropic. Raises RuntimeError outside a rollout."""
    import anthropic

    return anthropic.Anthropic(**_options(options, anthropic.DefaultHttpxClient, ambient_address().root_url))


def async_anthropic_client(**options: Any) -> "AsyncAnthropic":
    """Return an async client; `options` go to anthropic.AsyncAnthropic. Raises RuntimeError outside a rollout."""
    import anthropic

    return anthropic.AsyncAnthropic(**_options(options, anthropic.DefaultAsyncHttpxClient, ambient_address().root_url))


def _options(given: dict[str, Any], client: Callable[..., Any], url: str) -> dict[str, Any]:
    if "http_client" not in given:
        given["http_client"] = client(verify=_certificates())
    return {"base_url": url, "api_key": ambient_address().api_key, **given}
