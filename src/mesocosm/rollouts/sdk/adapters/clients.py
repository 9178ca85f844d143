"""Plain clients of the openai and anthropic packages, bound to the rollout's model.

They are cheap to make, so make one in each `run`: what is slow about a client, loading certificates, is done once.
"""

import ssl
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
    """Return a client that blocks; `options` go to openai.OpenAI. Raises RuntimeError outside a rollout."""
    import openai

    address = ambient_address()
    options.setdefault("http_client", openai.DefaultHttpxClient(verify=_certificates()))
    return openai.OpenAI(**{"base_url": address.base_url, "api_key": address.api_key, **options})


def async_openai_client(**options: Any) -> "AsyncOpenAI":
    """Return a client to await; `options` go to openai.AsyncOpenAI. Raises RuntimeError outside a rollout."""
    import openai

    address = ambient_address()
    options.setdefault("http_client", openai.DefaultAsyncHttpxClient(verify=_certificates()))
    return openai.AsyncOpenAI(**{"base_url": address.base_url, "api_key": address.api_key, **options})


def anthropic_client(**options: Any) -> "Anthropic":
    """Return a client that blocks; `options` go to anthropic.Anthropic. Raises RuntimeError outside a rollout."""
    import anthropic

    address = ambient_address()
    options.setdefault("http_client", anthropic.DefaultHttpxClient(verify=_certificates()))
    return anthropic.Anthropic(**{"base_url": address.root_url, "api_key": address.api_key, **options})


def async_anthropic_client(**options: Any) -> "AsyncAnthropic":
    """Return a client to await; `options` go to anthropic.AsyncAnthropic. Raises RuntimeError outside a rollout."""
    import anthropic

    address = ambient_address()
    options.setdefault("http_client", anthropic.DefaultAsyncHttpxClient(verify=_certificates()))
    return anthropic.AsyncAnthropic(**{"base_url": address.root_url, "api_key": address.api_key, **options})
