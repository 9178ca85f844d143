"""The opponent in a game of a guest, when a model plays it."""

from dataclasses import dataclass, field
from typing import Any

from mesocosm.agents.history import History
from mesocosm.agents.instructions import Instructions, closing
from mesocosm.agents.observation import content_of, framed, without_images
from mesocosm.agents.parsing import MalformedReply, Parser
from mesocosm.core.info import BenchmarkInfo
from mesocosm.core.message import Message
from mesocosm.core.model import ModelRequest
from mesocosm.core.ports import JudgeModel, Observation
from mesocosm.core.thought import split_thought
from mesocosm.environments.contract import Contract

HISTORY_TOKENS = 24_000


@dataclass(slots=True)
class _Seat:
    history: History = field(default_factory=lambda: History("full", HISTORY_TOKENS))
    turns: int = 0


class Opponent:
    """Plays every seat that the agent does not, each in a conversation of its own.

    It gets the prompts that the agent gets. A reply without a valid action is asked for once more; after that the guest
    draws the move, and `malformed` counts it.
    """

    def __init__(self, model: JudgeModel, info: BenchmarkInfo, contract: Contract) -> None:
        self._model = model
        self._parser = Parser(contract.action)
        self._closing = closing(contract.action, "text")
        self._instructions = Instructions(info, contract.action, contract.observation, "", "text")
        self._system = info.system_prompt
        self._seats: dict[str, _Seat] = {}
        self.malformed = 0

    async def act(self, seat: str, observation: Observation) -> Any:
        """Return the action of a seat, None if the model gives no valid one. Raises EpisodeError as a judge does."""
        state = self._seats.setdefault(seat, _Seat())
        state.turns += 1
        content = framed(without_images(content_of(observation)), f"[Step {state.turns}]")
        prompt = Message("user", content)
        system = self._instructions.message(observation.system_prompt or self._system, f"You act as {seat}.")
        messages = [system, *state.history.conversation([prompt])]
        for _ in range(2):
            reply = await self._model.ask(self._request(messages))
            answer = Message("assistant", split_thought(reply.text)[1] or "(no answer)", blocks=reply.blocks)
            outcome = self._parser.parse(reply.text)
            if not isinstance(outcome, MalformedReply):
                action = outcome.action
                if not observation.legal or str(action) in observation.legal:
                    state.history.add((prompt, answer))
                    return action
                outcome = MalformedReply(f"{action!r:.80} is not allowed now")
            allowed = f"now one of: {', '.join(observation.legal)}" if observation.legal else self._parser.allowed
            words = f"That reply holds no action that can be used: {outcome.reason}.\nAllowed is {allowed}\n"
            messages = [*messages, answer, Message("user", words + self._closing)]
        self.malformed += 1
        return None

    def _request(self, messages: list[Message]) -> ModelRequest:
        settings = self._model.settings
        return ModelRequest(
            messages,
            settings.temperature,
            settings.max_tokens,
            settings.top_p,
            timeout_s=settings.timeout_s,
            extra=settings.extra,
        )
