"""Model names, settings, requests and replies."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import msgspec

from mesocosm.core.failure import UsageError
from mesocosm.core.folder import from_home
from mesocosm.core.message import Message, ToolCall
from mesocosm.core.usage import Usage

MAX_TOKENS = 4096
"""Limit of one reply, in tokens, where neither the user nor the benchmark says one."""
LOCAL_MAX_TOKENS = 512
"""The same for `run local` and `run create`, which have always printed it; stored runs without the field had it too."""

_NAME = re.compile(r"(?P<provider>[A-Za-z][A-Za-z0-9_-]*)/(?P<model>[^\n]+?)(?:@(?P<url>https?://\S+))?")


class ModelName(msgspec.Struct, frozen=True):
    """A model as `provider/name[@base_url]`; an `@` that no URL follows belongs to the name."""

    provider: str
    model: str
    base_url: str = ""

    @classmethod
    def parse(cls, text: str) -> "ModelName":
        """Parse `text`. Raise UsageError, which shows the form, for anything else."""
        match = _NAME.fullmatch(text.strip())
        if match is None or match["model"].startswith("@"):
            raise UsageError(
                f"model {text!r} is not of the form provider/name[@base_url]; "
                "for example ollama/llama3.2, builtin/random or openai/my-model@http://127.0.0.1:8001/v1"
            )
        return cls(match["provider"].lower(), match["model"], (match["url"] or "").rstrip("/"))

    @property
    def file(self) -> str:
        """The path of the file that this model reads its answers from; empty for models without a file."""
        if self.provider == "replay":
            return self.model
        return self.model.partition(":")[2] if self.provider == "builtin" else ""

    def resolved(self) -> str:
        """Return the full name with the absolute path of its file: a run can be continued from any directory."""
        return str(self).replace(self.file, str(from_home(self.file).resolve())) if self.file else str(self)

    def shown(self) -> str:
        """Return the name for display, with a path shortened to its last part."""
        return str(self).replace(self.file, self.file.replace("\\", "/").rpartition("/")[2]) if self.file else str(self)

    def __str__(self) -> str:
        return f"{self.provider}/{self.model}" + (f"@{self.base_url}" if self.base_url else "")


class ModelSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """A model and its parameters. `timeout_s` limits one call and is not part of the identity."""

    name: str
    temperature: float = 0.0
    max_tokens: int = LOCAL_MAX_TOKENS
    top_p: float | None = None
    extra: dict[str, Any] = {}
    timeout_s: float = 120.0
    cache: str = ""

    def identity(self, content: str = "") -> dict[str, Any]:
        """Return the model's part of a run's signature; `content` as in Capabilities.

        Raise UsageError if `content` is given and `name` cannot be parsed.
        """
        return {
            "name": f"{ModelName.parse(self.name).provider}/{content}" if content else self.name,
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "top_p": self.top_p,
            "extra": self.extra,
        }


class Tool(msgspec.Struct, frozen=True, omit_defaults=True):
    """A function that the model may call; `parameters` is a JSON Schema."""

    name: str
    description: str = ""
    parameters: dict[str, Any] = {}


@dataclass(frozen=True, slots=True)
class EpisodeView:
    """The position of a call in its episode, for in-process models only; `oracle` returns the best action.

    `row` is the place of the task in its data, from 0; None for tasks that are not listed, as seeds.
    """

    seed: int | None
    task: str
    trial: int
    step: int
    space: Any = None
    observation: Any = None
    input: Any = None
    oracle: Callable[[], Awaitable[Any]] | None = None
    row: int | None = None


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call. `schema` constrains the whole reply; `repeat` counts equal earlier calls, for the response cache."""

    messages: Sequence[Message]
    temperature: float = 0.0
    max_tokens: int = LOCAL_MAX_TOKENS
    top_p: float | None = None
    schema: Mapping[str, Any] | None = None
    schema_name: str = "action"
    tools: Sequence[Tool] = ()
    timeout_s: float = 120.0
    extra: Mapping[str, Any] = field(default_factory=dict)
    trial: int = 0
    view: EpisodeView | None = None
    repeat: int = 0

    @property
    def content(self) -> list[Any]:
        """Everything in the request that affects the answer, except trial and repetition."""
        return [
            self.messages,
            float(self.temperature),
            self.max_tokens,
            self.top_p,
            self.schema,
            self.schema_name if self.schema is not None else "",
            self.tools,
            self.extra,
        ]


ONE_CALL = Usage(calls=1)


@dataclass(frozen=True, slots=True)
class WireCall:
    """A call as it went over the wire: path below the server's address, body without its messages, raw answer.

    The messages are recorded apart, each once; `mesocosm.interop.wire` puts the body together again.
    """

    path: str
    body: Mapping[str, Any]
    answer: str


class Logprobs(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a server said of the probability of tokens: how many there are, and the sum of their natural logarithms.

    `tokens` and `total` are those of the reply; `read` and `read_total` those of the prompt, if the server gave it back
    with the reply (`echo`). The first token of a text has no probability, and does not count.
    """

    tokens: int = 0
    total: float = 0.0
    read: int = 0
    read_total: float = 0.0


@dataclass(frozen=True, slots=True)
class ModelReply:
    """One answer. `finish_reason` is `stop`, `length`, `tool_calls`, `content_filter` or the provider's own word.

    `usage.cost_usd` is None if no price is known for `model`. `cached`: the answer comes from the response cache.
    `estimated`: the server did not report token counts. `served` is the model name that the server reports, which may
    be a snapshot; empty if it reports none. `blocks` are the reply's content as the provider sent it, if the provider
    wants its signed thoughts back unchanged in the next call of the conversation (Message.blocks); otherwise empty.
    `written` are the prompt tokens that the provider wrote to its cache, for minutes and for an hour. `wire` is the
    call as it was sent; None for models in this process, and for an answer from the cache. `logprobs` are of a call of
    a program that asked for them.
    """

    text: str
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str = "stop"
    usage: Usage = ONE_CALL
    model: str = ""
    latency_s: float = 0.0
    cached: bool = False
    estimated: bool = False
    served: str = ""
    blocks: tuple[dict[str, Any], ...] = ()
    written: tuple[int, int] = (0, 0)
    wire: WireCall | None = field(default=None, compare=False, repr=False)
    logprobs: Logprobs | None = None


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Capabilities of a model, known before a run starts.

    `content` is the digest of the file that a model reads its answers from (recordings, scripts). It replaces the
    model's name in the signature, so that the path does not matter and an edited file is another model. `logprobs`: its
    server may say how probable a text is that it is given; `ReadsLogprobs` finds out.
    """

    structured: bool = False
    images: bool = False
    tools: bool = False
    local: bool = False
    content: str = ""
    logprobs: bool = False


@runtime_checkable
class ReadsLogprobs(Protocol):
    """A model whose server can be asked whether it says how probable a given text is."""

    async def reads_logprobs(self) -> bool:
        """Return whether it does; it is asked about a short text. Raises EpisodeError if it does not answer."""
        ...
