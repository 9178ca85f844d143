"""The step loop: reset, then decide and act until the episode is over."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mesocosm.agents.agent_context import AgentContext, setting_of
from mesocosm.agents.decision import Calls, Decider, Move, Toolbox
from mesocosm.agents.history import History
from mesocosm.agents.instructions import Path
from mesocosm.agents.observation import content_of, without_images
from mesocosm.agents.options import LoopOptions, read_options
from mesocosm.agents.role_state import RoleState, ToolOutcome
from mesocosm.agents.swecc import SweccLoop
from mesocosm.agents.technique import Technique, ToolAnswer
from mesocosm.agents.tool_servers import ServerTools
from mesocosm.agents.tool_text import HEADING, offered
from mesocosm.core.event import Kind
from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.message import Message, ToolCall
from mesocosm.core.model import Tool
from mesocosm.core.ports import Agent, Context, Observation, Step
from mesocosm.core.space import deviations

MOST_ANSWERS = 8
"""Consecutive rounds of tool calls without an action after which an episode fails."""
_NAMED = 3
_INDEX = re.compile(r"\[\d+\]")
_LAST = "This is the last step."
_OUTSIDE = "is outside the declared"


def open_loop(options: Mapping[str, Any]) -> Agent:
    """Return the step loop with these options; see mesocosm.agents.options. Raise UsageError.

    With a `profile`, return the loop that reproduces another program.
    """
    chosen = read_options(options)
    if not chosen.profile:
        return StepLoop(chosen)
    if others := sorted(options.keys() - {"profile", "system_prompt"}):
        raise UsageError(
            f"the profile {chosen.profile} settles how an episode is played, so {', '.join(others)} cannot be chosen"
        )
    return SweccLoop(chosen.system_prompt)


class StepLoop:
    """The agent for environments. Implements core.ports.Agent; one loop plays any number of episodes concurrently."""

    def __init__(self, options: LoopOptions | None = None) -> None:
        self.options = options or LoopOptions()
        self._setting: AgentContext | None = None

    async def play(self, context: Context) -> None:
        """Play one episode to its end. Raise EpisodeError with the cause."""
        setting = self._setting
        if setting is None or not setting.fits(context):
            setting = self._setting = setting_of(context, self.options)
        await _Play(context, setting).run()


class _Play:
    """The state of one episode."""

    def __init__(self, context: Context, setting: AgentContext) -> None:
        self.context = context
        self.setting = setting
        self.techniques = [equipped.start() for equipped in setting.techniques]
        self.most_answers = MOST_ANSWERS
        if (offer := setting.options.mcp) is not None:
            self.techniques.append(ServerTools(offer))
            self.most_answers = offer.rounds
        self.toolbox = Toolbox()
        self.path: Path = "text" if setting.schema is None else "structured"
        self.roles: dict[str, RoleState] = {}
        self.acting = ""
        self.at_step = -1
        self.info: Mapping[str, Any] = {}
        self.environment = ""
        self.warned: set[str] = set()
        self.answers = 0

    async def run(self) -> None:
        """Play to the end."""
        for warning in self.setting.warnings:
            self.context.warn(warning)
        try:
            if self.techniques:
                await self._equip()
            decider = Decider(self.context, self.setting, self.techniques, self.toolbox)
            observation = await self.context.reset()
            self.info = observation.info
            self._check(observation, observation.notes)
            prompt = observation.system_prompt
            self.environment = self.setting.info.system_prompt if prompt is None else prompt
            while not self.context.over:
                observation = await self._turn(observation, decider)
        finally:
            for technique in self.techniques:
                await technique.on_end(self.context)

    async def _equip(self) -> None:
        for technique in self.techniques:
            await technique.on_start(self.context)
        self.toolbox = _toolbox(self.techniques, native=self.context.capabilities.tools)
        if self.toolbox.tools:
            self.path = "tools"

    async def _turn(self, observation: Observation, decider: Decider) -> Observation:
        """Let the acting role decide and act; return the next observation."""
        state = self._role_state(observation)
        number = self.context.steps + 1
        prompt = self._prompt(state, observation, number)
        system = self._system(state, observation, number)
        decision = await decider.decide([system, *state.history.conversation(prompt)], state.role, observation.legal)
        if isinstance(decision, Move):
            self.answers = 0
            state.history.add((*prompt, decision.message))
            return await self._move(decision, state)
        observation = await self._call(decision, state, observation)
        state.history.add((*prompt, decision.message), self.context.steps + 1 - number)
        return observation

    def _role_state(self, observation: Observation) -> RoleState:
        if self.techniques and self.at_step != self.context.steps:
            self.at_step = self.context.steps
            roles = (technique.role(observation, self.info) for technique in self.techniques)
            self.acting = next((role for role in roles if role), "")
        state = self.roles.get(self.acting)
        if state is None:
            options = self.setting.options
            history = History(options.history, options.history_tokens)
            state = self.roles[self.acting] = RoleState(self.acting, history, self.environment)
        return state

    def _prompt(self, state: RoleState, observation: Observation, number: int) -> list[Message]:
        content = content_of(observation)
        if not isinstance(content, str) and not self.setting.shows_images:
            content = without_images(content)
            self._warn_once("an observation holds images, and the model sees none")
        left = self.context.steps_left
        tail = "" if left is None else _LAST if left == 1 else f"Steps left, this one included: {left}"
        return state.prompt(observation, content, f"[Step {number}]", tail)

    def _system(self, state: RoleState, observation: Observation, number: int) -> Message:
        instructions = self.setting.instructions(self.path)
        if not self.techniques:
            return state.same(instructions.message(state.environment))
        sections: dict[str, str] = {}
        for technique in self.techniques:
            sections.update(technique.sections(observation, number, state.role))
        if self.toolbox.tools and not self.toolbox.native:
            sections[HEADING] = offered(self.toolbox.tools)
        prompts = filter(None, (technique.role_prompt(state.role) for technique in self.techniques))
        return state.same(instructions.message(state.environment, "\n\n".join(prompts), sections))

    async def _move(self, move: Move, state: RoleState) -> Observation:
        if move.malformed:
            self.context.malformed += 1
            self.context.record(Kind.LOG, {"message": f"passed on as it stands: {move.malformed}", "malformed": True})
            self._warn_once(
                "replies without a valid action were passed to the environment as they stood (--on-malformed pass)"
            )
            if self.setting.options.reask != LoopOptions().reask:
                self._warn_once(
                    f"no reply was asked for again, although reask is {self.setting.options.reask}: replies are passed "
                    "on here; --on-malformed ask asks again"
                )
        for deviation in move.parsed.deviations:
            self._warn_of("action", deviation)
        if move.parsed.repaired:
            self.context.record(Kind.LOG, {"message": "the reply does not spell its action as asked", "repaired": True})
        if move.cut:
            self._warn_once(
                "a reply was cut at the token limit and taken as it stands; a higher max_tokens raises the limit"
            )
        return (await self._step(move.parsed.action, move.reasoning, state)).observation

    async def _step(self, action: Any, reasoning: str, state: RoleState) -> Step:
        step = await self.context.step(action, reasoning=reasoning, role=state.role)
        self.info = step.info
        observation = step.observation
        for prompt in (observation.system_prompt, step.system_prompt):
            if prompt is not None:
                state.environment = prompt
        for technique in self.techniques:
            await technique.after_step(action, step, self.context.steps, state.role)
        self._check(observation, (*observation.notes, *step.notes))
        return step

    async def _call(self, decision: Calls, state: RoleState, observation: Observation) -> Observation:
        """Apply tool calls in order; return the observation after the last."""
        reasoning = decision.reasoning
        acted = False
        for call, outcome in decision.calls:
            event: dict[str, Any] = {"id": call.id, "name": call.name, "arguments": call.arguments}
            if state.role:
                event["role"] = state.role
            if not (isinstance(outcome, ToolAnswer) and outcome.recorded):
                self.context.record(Kind.TOOL_CALL, event)
            if isinstance(outcome, ToolAnswer):
                state.results.append(ToolOutcome(call, decision.native, outcome.text))
                continue
            step = await self._step(outcome.action, reasoning, state)
            acted, reasoning, observation = True, "", step.observation
            state.results.append(self._result(call, step, decision.native))
            if self.context.over:
                break
        self.answers = 0 if acted else self.answers + 1
        if self.answers >= self.most_answers:
            raise EpisodeError(
                Cause.MALFORMED_ACTION, f"the model called tools {self.most_answers} times in a row without an action"
            )
        return observation

    def _result(self, call: ToolCall, step: Step, native: bool) -> ToolOutcome:
        text = self.toolbox.owners[call.name].result(call, step)
        if text is None:
            return ToolOutcome(call, native, observation=step.observation)
        return ToolOutcome(call, native, text)

    def _check(self, observation: Observation, notes: Sequence[str]) -> None:
        """Warn of deviations once per kind, unless the environment's notes already report them."""
        space = self.setting.observation_space
        if space is None or any(_OUTSIDE in note for note in notes):
            return
        for deviation in deviations(space, observation.data, limit=_NAMED):
            self._warn_of("observation", deviation)

    def _warn_of(self, what: str, deviation: str) -> None:
        self._warn_once(f"an {what} {_OUTSIDE} {what} space: {deviation}")

    def _warn_once(self, message: str) -> None:
        kind = _INDEX.sub("[]", message)
        if kind not in self.warned:
            self.warned.add(kind)
            self.context.warn(message)


def _toolbox(techniques: Sequence[Technique], *, native: bool) -> Toolbox:
    owners: dict[str, Technique] = {}
    tools: list[Tool] = []
    for technique in techniques:
        for tool in technique.tools():
            if tool.name not in owners:
                owners[tool.name] = technique
                tools.append(tool)
    return Toolbox(tuple(tools), owners, native and bool(tools))
