"""The ordered record of an episode."""

from enum import StrEnum
from typing import Any

import msgspec


class Kind(StrEnum):
    """Kinds of events. Exports use the values."""

    EPISODE_START = "episode_start"
    OBSERVATION = "observation"
    MESSAGE = "message"
    MODEL_CALL = "model_call"
    ACTION = "action"
    TOOL_CALL = "tool_call"
    STEP_RESULT = "step_result"
    TECHNIQUE = "technique_event"
    WARNING = "warning"
    RETRY = "retry"
    ERROR = "error"
    SCORE = "score"
    LOG = "log"
    EPISODE_END = "episode_end"


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """One entry: position `seq` (0, 1, …) in its episode, step (0 before the first action), UNIX time, kind, payload.

    Payloads by kind::

        episode_start  {seed, task, trial}
        observation    {data, content_type}          data may be {"$blob": digest} when it is large
        message        {index, role, content, …}     each distinct message once per episode
        model_call     {model, messages: [[first, last], …], reply: index, usage, latency_s, finish_reason, …}
        retry          {cause, message, wait_s, try}
        action         {action, reasoning?, repaired?, role?}
        step_result    {reward, terminated, truncated, info, system_prompt?}
        error          a core.failure.Failure
        episode_end    {total_reward, steps, status, terminal_info, total_tokens}
    """

    seq: int
    step: int
    at: float
    kind: Kind
    payload: Any = None
