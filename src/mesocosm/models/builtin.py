"""Models without an endpoint: baselines, scripts and people.

`builtin/random` samples from the action space, or else from the tools or the schema. `builtin/empty` replies with
nothing. `builtin/oracle` takes the best action that the environment knows. `builtin/scripted:FILE` reads its replies
from a file. `builtin/human` asks on the terminal. `builtin/cheat:NAME` tries to earn a score without solving anything.
"""

from dataclasses import replace
from random import Random
from typing import Any

from mesocosm.core.failure import Cause, EpisodeError, UnknownName, UsageError
from mesocosm.core.ids import digest
from mesocosm.core.message import ToolCall
from mesocosm.core.model import ModelName, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.ports import Model
from mesocosm.core.registry import suggestion
from mesocosm.core.sampling import sample, sample_schema
from mesocosm.models.cheats import CHEATS, open_cheat
from mesocosm.models.human import open_human
from mesocosm.models.inprocess import FREE, LOCAL_STRUCTURED, InProcessModel, json_text, spoken
from mesocosm.models.scripted import open_scripted

NAMES = ("random", "empty", "oracle", "scripted:FILE", "human", "cheat:NAME")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def open_model(settings: ModelSettings) -> Model:
    """Return a built-in model. Raises UnknownName for an unknown name, UsageError for an unusable script."""
    name = ModelName.parse(settings.name)
    if name.base_url:
        raise UsageError(
            f"builtin/{name.model} runs in this process and takes no base URL; leave out what follows the @"
        )
    full = f"builtin/{name.model}"
    kind, _, file = name.model.partition(":")
    match kind:
        case "random" if not file:
            return InProcessModel(full, _random, replace(LOCAL_STRUCTURED, tools=True))
        case "empty" if not file:
            return InProcessModel(full, _empty)
        case "oracle" if not file:
            return InProcessModel(full, _oracle, LOCAL_STRUCTURED)
        case "human" if not file:
            return open_human(full)
        case "cheat" if file in CHEATS:
            return open_cheat(full, file)
        case "cheat":
            raise UnknownName(f"no cheat is called {file!r}; there are {', '.join(CHEATS)}")
        case "scripted":
            return open_scripted(full, file)
    raise UnknownName(f"no built-in model is called {name.model!r}{suggestion(name.model, list(NAMES))}")


async def _random(request: ModelRequest) -> str | ModelReply:
    """Sample an action; equal seed, trial and step give the same one. If there are tools, call at most one of them."""
    view = request.view
    if view is None:
        rng = Random(digest([message.text for message in request.messages]))
    else:
        rng = Random(f"{view.task if view.seed is None else view.seed}/{view.trial}/{view.step}")
    if view is not None and view.space is not None:
        return spoken(sample(view.space, rng), request)
    tool = rng.choice((None, *request.tools)) if request.tools else None
    if tool is not None:
        call = ToolCall("call_0", tool.name, sample_schema({"type": "object", **tool.parameters}, rng))
        return ModelReply("", tool_calls=(call,), finish_reason="tool_calls", usage=FREE, model="builtin/random")
    if request.schema is not None:
        return json_text(sample_schema(request.schema, rng))
    return "".join(rng.choices(_LETTERS, k=8))


async def _empty(_request: ModelRequest) -> str:
    return ""


async def _oracle(request: ModelRequest) -> str:
    oracle = request.view.oracle if request.view is not None else None
    if oracle is None:
        raise EpisodeError(
            Cause.MODEL_MISSING,
            "builtin/oracle: nothing here knows the best action; an environment has an oracle when its class defines "
            "`oracle`, a dataset when its tasks have a target. builtin/random works everywhere",
        )
    best: Any = await oracle()
    return spoken(best, request)
