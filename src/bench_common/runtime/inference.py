"""Single decisions of a model: build the prompt, and parse the reply."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from bench_common.core.binding_vow import BindingVow
from bench_common.core.run import AgentConfig
from bench_common.model_catalog import ALLOWED_MODELS
from mesocosm.agents.instructions import Instructions, Path
from mesocosm.agents.observation import Content, content_of, framed, image_of
from mesocosm.agents.parsing import MalformedReply, Parser
from mesocosm.core.failure import MesocosmError
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.message import Image, Message
from mesocosm.core.model import EpisodeView, ModelName, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.ports import Observation
from mesocosm.core.space import CompositeSpace, Space, SpaceType, action_schema
from mesocosm.core.space import json_schema as _space_to_json_schema
from mesocosm.core.thought import split_thought
from mesocosm.models.catalogue import is_local, open_model
from mesocosm.models.chat_completions import wire_messages

__all__ = [
    "DecideResult",
    "InferenceRouter",
    "StructuredOutputError",
    "_space_to_json_schema",
    "_wrap_action_schema",
    "allowed_model",
    "normalize_model_id",
]

JSON = dict[str, Any]

_STRUCTURED = (SpaceType.DISCRETE, SpaceType.CONTINUOUS, SpaceType.JSON)


class StructuredOutputError(MesocosmError):
    """A reply that had to follow a schema contains no action."""


@dataclass(frozen=True)
class DecideResult:
    """An action, the reasoning with it, and its cost in tokens."""

    action: Any
    reasoning: str = ""
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.prompt_tokens + self.completion_tokens


def normalize_model_id(model: str) -> str:
    """Return the canonical id of a model: `google/gemini-…` becomes `gemini/gemini-…`."""
    name = model.strip()
    return name.replace("google/", "gemini/", 1) if name.startswith("google/gemini-") else name


def allowed_model(model: str, *, allow_any_model: bool) -> str:
    """Return the canonical id of a model. Raises ValueError if it is not allowed."""
    name = normalize_model_id(model)
    if allow_any_model or name in ALLOWED_MODELS or is_local(ModelName.parse(name)):
        return name
    raise ValueError(
        f"model {model!r} is not on this machine and not among {', '.join(sorted(ALLOWED_MODELS))}; "
        "pass allow_any_model=True to use it all the same"
    )


def _wrap_action_schema(schema: Mapping[str, Any] | Space) -> JSON:
    """Return the schema of an object with one property `action`, which follows a schema or belongs to a space."""
    action = dict(schema) if isinstance(schema, Mapping) else _space_to_json_schema(schema)
    return {"type": "object", "properties": {"action": action}, "required": ["action"]}


class InferenceRouter:
    """Calls models for single decisions. For whole episodes use `bench`, which has history, retries and records."""

    def __init__(self, *, allow_any_model: bool = False) -> None:
        self.allow_any_model = allow_any_model

    async def decide(
        self,
        agent: AgentConfig,
        vow: BindingVow,
        observation: Observation,
        *,
        step: int = 1,
        env_system_prompt: str = "",
        context: Mapping[str, str] | None = None,
    ) -> DecideResult:
        """Return the model's decision for `observation`; `context` holds further sections of the prompt.

        Raises ValueError for a model that is not allowed, StructuredOutputError for a reply that violates its schema,
        EpisodeError if the model does not answer.
        """
        name = allowed_model(agent.model, allow_any_model=self.allow_any_model)
        model = open_model(ModelSettings(name, agent.temperature, agent.max_tokens))
        structured = model.capabilities.structured and _can_be_structured(vow.action_space)
        system = _instructions(vow, agent.system_prompt or "", structured=structured)
        user = Message("user", _user_content(observation, step))
        request = ModelRequest(
            [system.message(env_system_prompt, sections=context), user],
            agent.temperature,
            agent.max_tokens,
            schema=action_schema(vow.action_space) if structured else None,
            view=EpisodeView(None, "", 0, step - 1, vow.action_space, observation.data),
        )
        try:
            reply = await model.ask(request)
        finally:
            await model.close()
        return _decided(reply, name, vow.action_space, structured=structured)

    def _build_image_content(self, data: Any, content_type: str = "image/png", provider: str = "openai") -> JSON:
        """Return an image as a message part, or a text note if the provider does not accept it.

        `data` is bytes, base64 text, a data URL, a web address, or an object with `url`.
        """
        image = image_of(data, content_type)
        if image is None:
            return {"type": "text", "text": "(an image that cannot be read)"}
        return _part(image, provider)

    def _build_user_content(
        self, observation: Any, step: int = 1, provider: str = "openai", content_type: str = "application/json"
    ) -> str | list[JSON]:
        """Return an observation as the model sees it: text, or a list of parts if it contains images."""
        seen = observation if isinstance(observation, Observation) else Observation(observation, content_type)
        content = _user_content(seen, step)
        return content if isinstance(content, str) else [_part(part, provider) for part in content]

    def _parse_action(self, text: str, action_space: Space) -> Any:
        """Return the action in a reply, or the whole reply as text if it contains none."""
        outcome = Parser(action_space).parse(text)
        return split_thought(text)[1] if isinstance(outcome, MalformedReply) else outcome.action

    def _extract_structured_action(self, response: Any) -> tuple[Any, str]:
        """Return action and reasoning of a chat completion, from its first tool call or else its content.

        Raises StructuredOutputError if that is not an object with `action`.
        """
        message = _field(_field(_field(response, "choices"), 0), "message")
        content = _field(message, "content")
        call = _field(_field(message, "tool_calls"), 0)
        given = content if call is None else _field(_field(call, "function"), "arguments")
        try:
            answer = json.loads(given) if isinstance(given, str) else given
        except ValueError as error:
            raise StructuredOutputError(f"the reply is not JSON ({error}): {given!r:.200}") from error
        if not isinstance(answer, Mapping) or "action" not in answer:
            raise StructuredOutputError(f"the reply is not an object with `action`: {given!r:.200}")
        thought = content if call is not None else answer.get("reasoning")
        return answer["action"], thought.strip() if isinstance(thought, str) else ""


def _user_content(observation: Observation, step: int) -> Content:
    return framed(content_of(observation), f"[Step {step}]")


def _part(part: Any, provider: str) -> JSON:
    """Return a message part in OpenAI's or Anthropic's format."""
    if isinstance(part, Image) and provider == "anthropic":
        if not part.data:
            return {"type": "text", "text": f"(an image at {part.url})"}
        return {"type": "image", "source": {"type": "base64", "media_type": part.media_type, "data": part.data}}
    message: JSON = msgspec.to_builtins(wire_messages([Message("user", (part,))])[0])
    found: JSON = message["content"][0]
    return found


def _can_be_structured(space: Space) -> bool:
    return isinstance(space, CompositeSpace) or space.type in _STRUCTURED


def _instructions(vow: BindingVow, operator: str, *, structured: bool) -> Instructions:
    dumped = vow.model_dump(mode="json", exclude_none=True)
    info = BenchmarkInfo(vow.domain_id or "", "", vow.version, "", "environment", (), vow=dumped)
    path: Path = "structured" if structured else "text"
    return Instructions(info, vow.action_space, vow.observation_space, operator, path)


def _decided(reply: ModelReply, model: str, space: Space, *, structured: bool) -> DecideResult:
    outcome = Parser(space).parse(reply.text, wrapped=structured)
    action: Any = split_thought(reply.text)[1]
    if not isinstance(outcome, MalformedReply):
        action = outcome.action
    elif structured:
        raise StructuredOutputError(f"{model} gave no action: {outcome.reason}")
    reasoning = "\n\n".join(text for text in (reply.reasoning, outcome.reasoning) if text)
    return DecideResult(action, reasoning, model, reply.usage.prompt, reply.usage.completion)


def _field(value: Any, name: str | int) -> Any:
    """Return a key, an attribute, or a list item; None if it does not exist."""
    if isinstance(name, int):
        return value[name] if isinstance(value, list | tuple) and len(value) > name else None
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
