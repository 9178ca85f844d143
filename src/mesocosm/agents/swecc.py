"""The step loop of swecc-mesocosm 0.2, for results comparable with that program.

Each call shows one observation without history, the model is never called again for the same step, and a reply without
a valid action is passed to the environment as text. Prompt and parsing are those of release 0.2.15, byte for byte; the
result of our own parser is only counted, for the strict value of a run's metrics. Techniques other than `memory` have
no effect, nor do the parameters that a vow sets for it.
"""

import json
import math
import re
from collections import deque
from collections.abc import Mapping
from typing import Any

from mesocosm.agents.observation import content_of
from mesocosm.agents.parsing import MalformedReply, Parser
from mesocosm.core.event import Kind
from mesocosm.core.message import Image, Message, Text
from mesocosm.core.model import ModelRequest
from mesocosm.core.ports import Context, Observation, Step
from mesocosm.core.space import CompositeSpace, Space, SpaceSpec, SpaceType

PROFILE = "swecc-0.2"
STEPS = 35
TOKENS = 100_000
RETRIES = 2
"""Limits of an episode in that program, and its number of retries of a failed call."""

LEAST_TOKENS = 512
"""Minimum token limit of replies from Ollama, even if a lower limit is requested."""

WINDOW = 10
_SHOWN = 120
_CLOSING = (
    "Respond with your action. You may include one or two sentences of reasoning first; the platform records your full "
    "reply. If the action space is discrete, include exactly one allowed value in your response. If the action space "
    "is JSON, end with valid JSON only."
)
_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL | re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_FENCE = re.compile(r"\A```[A-Za-z]*[ \t]*\n?")


class SweccLoop:
    """The step loop of swecc-mesocosm 0.2. Implements core.ports.Agent."""

    def __init__(self, system_prompt: str = "") -> None:
        self._operator = system_prompt

    async def play(self, context: Context) -> None:
        """Play one episode to its end. Raise EpisodeError with the cause."""
        space: Space = context.action_space or SpaceSpec(type=SpaceType.TEXT)
        strict = Parser(context.action_space)
        memory = _Memory() if _remembers(context.info.vow) else None
        observation = await context.reset()
        environment = observation.system_prompt or ""
        while not context.over:
            number = context.steps + 1
            system = self._system(context, space, environment, memory)
            reply = await context.ask(_request(context, system, _user(observation, number)))
            said = _THOUGHT.sub("", reply.text).strip()
            if isinstance(outcome := strict.parse(reply.text), MalformedReply):
                context.malformed += 1
                context.record(Kind.LOG, {"message": f"passed on as it stands: {outcome.reason}", "malformed": True})
            action = parse_action(said, space)
            step = await context.step(action, reasoning=said)
            observation = step.observation
            prompt = step.system_prompt if step.system_prompt is not None else observation.system_prompt
            environment = environment if prompt is None else prompt
            if memory is not None:
                memory.remember(number, action, step)

    def _system(self, context: Context, space: Space, environment: str, memory: "_Memory | None") -> str:
        description = context.info.vow.get("description")
        parts = (
            environment,
            self._operator,
            f"## Domain\n{description}" if description else "",
            f"## Action Space\n{described(space)}",
            memory.section() if memory is not None else "",
            _CLOSING,
        )
        return "\n\n".join(part for part in parts if part)


class _Memory:
    """The technique `memory` with its default window; the vow's parameters are ignored."""

    def __init__(self) -> None:
        self._lines: deque[tuple[int, str]] = deque(maxlen=WINDOW)

    def remember(self, number: int, action: Any, step: Step) -> None:
        data = step.observation.data
        seen = json.dumps(data) if isinstance(data, dict | list) else str(data)
        self._lines.append((number, f"Step {number}: obs={seen[:_SHOWN]} | action={action} | reward={step.reward}"))

    def section(self) -> str:
        if not self._lines:
            return ""
        first = self._lines[0][0]
        hidden = f"[Steps 1–{first - 1} are not shown; displaying the {WINDOW} most recent steps only.]"
        lines = [hidden] * (first > 1) + [line for _, line in self._lines]
        return "## Recent History\n" + "\n".join(lines)


def _remembers(vow: Mapping[str, Any]) -> bool:
    declared = vow.get("techniques") or []
    return any(isinstance(item, Mapping) and item.get("technique_id") == "memory" for item in declared)


def _request(context: Context, system: str, user: Message) -> ModelRequest:
    settings = context.settings
    least = LEAST_TOKENS if settings.name.startswith("ollama/") else 1
    return ModelRequest(
        [Message("system", system), user],
        settings.temperature,
        max(settings.max_tokens, least),
        settings.top_p,
        timeout_s=settings.timeout_s,
        extra=settings.extra,
    )


def _user(observation: Observation, number: int) -> Message:
    head, data = f"[Step {number}]\n", observation.data
    if observation.content_type.startswith("image/"):
        content = content_of(observation)
        images = [part for part in content if isinstance(part, Image)] if not isinstance(content, str) else []
        if images:
            return Message("user", (Text(head), *images))
    text = json.dumps(data, ensure_ascii=False) if isinstance(data, dict | list) else str(data)
    return Message("user", head + text)


def described(space: Space) -> str:
    """Return an action space as one line: the values of an enumeration, otherwise its description or type."""
    if isinstance(space, CompositeSpace):
        return f"composite({', '.join(f'{name}: {described(field)}' for name, field in space.fields.items())})"
    if space.enum_values:
        return f"one of {list(space.enum_values)!r}"
    return space.description or space.type.value


def parse_action(said: str, space: Space) -> Any:
    """Return the action in a reply, or the reply itself if it has none."""
    if isinstance(space, CompositeSpace) or space.type is SpaceType.JSON:
        return _json_in(said)
    if space.type is SpaceType.DISCRETE:
        return _chosen(said, space.enum_values or [])
    if space.type is SpaceType.CONTINUOUS:
        return _number_in(said)
    return said


def _chosen(said: str, values: list[str]) -> str:
    exact = next((value for value in values if value.lower() == said.lower()), None)
    if exact is not None:
        return exact
    for value in values:
        if re.search(rf"\b{re.escape(value)}\b", said, re.IGNORECASE):
            return value
    return said


def _number_in(said: str) -> float | str:
    try:
        number = float(said)
    except ValueError:
        found = _NUMBER.findall(said)
        if len(found) != 1:
            return said
        number = float(found[0])
    return number if math.isfinite(number) else said


def _json_in(said: str) -> Any:
    text = _FENCE.sub("", said)
    text = text.removesuffix("```").strip() if text != said else text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    decoder = json.JSONDecoder()
    for place in reversed([match.start() for match in re.finditer(r"[\[{]", text)]):
        try:
            value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            continue
        if not text[end:].strip():
            return value
    return said
