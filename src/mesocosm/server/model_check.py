"""Ask a model one word, to know before a run whether it answers."""

import asyncio
import time
from urllib.parse import urlsplit

from mesocosm.core.failure import MesocosmError
from mesocosm.core.message import Message
from mesocosm.core.model import ModelName, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.redact import Redactor
from mesocosm.models.catalogue import IN_PROCESS, open_model
from mesocosm.server.model_catalogue import ServedModel
from mesocosm.server.schemas.document import discreet, instant
from mesocosm.server.schemas.model import ModelCheck
from mesocosm.server.service import Service

PATIENCE_S = 20.0
_LONGEST = 200
_QUESTION = "Reply with the one word: ready"
_TOKENS = 256
"""Room for models that think before they answer."""


def checked_model(service: Service, model: ServedModel) -> ModelCheck:
    """Return whether a model answers, asked now or in the last minute: many people who look at a form are one call.

    Blocks for up to `PATIENCE_S`.
    """
    found: ModelCheck = service.checks.get((model.asked, model.name), lambda: _ask(service, model))
    return found


def forget_check(service: Service, name: str, served: str) -> None:
    """Ask a model again, because it was changed."""
    service.checks.forget((name, served))


def without_secrets(text: str, model: ServedModel) -> str:
    """Return a text without keys of this process and without the address of a model, which members do not know."""
    clean = Redactor().text(text)
    address = model.name.partition("@")[2]
    host = urlsplit(address).hostname if "//" in address else address.partition("/")[0].partition(":")[0]
    for part in (address, address.removesuffix("/v1"), host):
        clean = clean.replace(part, "its address") if part else clean
    return discreet(clean)


def _ask(service: Service, model: ServedModel) -> ModelCheck:
    if ModelName.parse(model.name).provider in IN_PROCESS:
        return ModelCheck(
            model=model.asked, answers=True, reply="", error="", seconds=0.0, tokens=0, asked_at=instant(time.time())
        )
    service.assign_model_keys()
    began, at, reply, error = time.monotonic(), time.time(), None, ""
    try:
        reply = asyncio.run(_asked(model.name))
    except TimeoutError:
        error = f"no answer within {PATIENCE_S:g} s; the model may be starting, or its address may be wrong"
    except MesocosmError as failure:
        error = str(failure)
    if reply is not None and (odd := _without_words(reply)):
        reply, error = None, f"{model.asked} {odd}"
    seconds = time.monotonic() - began
    clean = without_secrets(error if reply is None else reply.text, model)
    return ModelCheck(
        model=model.asked,
        answers=reply is not None,
        reply="" if reply is None else clean[:_LONGEST],
        error="" if reply is not None else clean[: 4 * _LONGEST],
        seconds=round(seconds, 3),
        tokens=0 if reply is None else reply.usage.total,
        asked_at=instant(at),
    )


def _without_words(reply: ModelReply) -> str:
    """Return why a reply without text is no answer; empty for one with text, or whose thought used up the tokens."""
    if reply.text.strip() or (reply.finish_reason == "length" and reply.usage.completion):
        return ""
    if reply.finish_reason == "content_filter":
        return "replied nothing: its provider withheld the reply to one harmless word"
    if reply.tool_calls:
        return "called a tool although it was offered none, and said nothing"
    return "replied with an empty text; look into the log of its server, and at its chat template"


async def _asked(name: str) -> ModelReply:
    model = open_model(ModelSettings(name, max_tokens=_TOKENS, timeout_s=PATIENCE_S))
    try:
        async with asyncio.timeout(PATIENCE_S):
            request = ModelRequest([Message("user", _QUESTION)], max_tokens=_TOKENS, timeout_s=PATIENCE_S)
            return await model.ask(request)
    finally:
        await model.close()
