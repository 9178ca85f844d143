"""One episode: start the container of a task, let an agent work in it, and verify what it did."""

import asyncio
import os
import shlex
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mesocosm.benchmarks.harbor.bash_agent import BashAgent
from mesocosm.benchmarks.harbor.cheats import CONTAINER_CHEATS
from mesocosm.benchmarks.harbor.config import EnvironmentTable, HealthCheck
from mesocosm.benchmarks.harbor.events import RecordedContainer
from mesocosm.benchmarks.harbor.folder import Phase, TaskFolder
from mesocosm.benchmarks.harbor.options import BASH, CHEAT, NOP, ORACLE, HarborOptions
from mesocosm.benchmarks.harbor.rewards import mean, primary
from mesocosm.benchmarks.harbor.variables import host_values, resolved
from mesocosm.benchmarks.harbor.verifying import TESTS, VerifierOutcome, make_logs, verify
from mesocosm.core.container import (
    Container,
    ContainerCommand,
    ContainerEngine,
    ContainerImage,
    ContainerLimits,
    ContainerSpec,
    NetworkPolicy,
)
from mesocosm.core.failure import Cause, EpisodeError, RunAborted
from mesocosm.core.ports import Observation, Step
from mesocosm.core.proxy import ProxyAddress
from mesocosm.core.redact import Redactor, secret_values

REWARDS, CAUSE, REASON = "rewards", "reward_missing", "reason"
"""Keys of the terminal info: the rewards by name, else the cause and the reason why there are none."""
_SETUP_S = 600.0
_KEPT = "test -e /tests"
_UNTIL_STOPPED_S = 365 * 24 * 3600.0


@dataclass(frozen=True, slots=True)
class TrialSetting:
    """What all episodes of a task share. `image` is that of the agent's container."""

    task: TaskFolder
    options: HarborOptions
    engine: ContainerEngine
    image: ContainerImage
    notice: Callable[[str], None]
    host: Mapping[str, str] = field(default_factory=lambda: os.environ)

    def spec(self, episode_id: str = "", port: int | None = None) -> ContainerSpec:
        """Return what to start for the agent. `port` is that of its model."""
        task = self.task
        baseline = task.environment.policy
        policies = [baseline]
        for phase in task.phases:
            policies.append(task.agent_policy(phase))
            if phase.separate is None:
                policies.append(task.verifier_policy(phase))
        users = [user for phase in task.phases for user in (phase.agent.user, self._verifier_user(phase))]
        return ContainerSpec(
            self.image,
            limits_of(task.environment),
            networks=tuple(dict.fromkeys(map(_settled, policies))),
            ports=() if port is None else (port,),
            users=tuple(user for user in users if user is not None),
            workdir=task.environment.workdir or "",
            env=resolved(task.env, self.host),
            labels={"task": task.id, **({"episode": episode_id} if episode_id else {})},
        )

    def _verifier_user(self, phase: Phase) -> str | int | None:
        return None if phase.separate is not None else phase.verifier.user

    def verifier_spec(self, phase: Phase, episode_id: str = "") -> ContainerSpec:
        """Return what to start for a verifier with a container of its own."""
        assert phase.separate is not None
        table, task = phase.separate, self.task
        image = self.image if phase.image(task) == task.image else phase.image(task)
        return ContainerSpec(
            image,
            limits_of(table),
            networks=(_settled(task.verifier_policy(phase)),),
            users=() if phase.verifier.user is None else (phase.verifier.user,),
            workdir=table.workdir or "",
            env=resolved(table.env, self.host),
            labels={"task": task.id, "for": "verifier", **({"episode": episode_id} if episode_id else {})},
        )

    def variables(self) -> list[Mapping[str, str]]:
        """Return all tables of variables that the host may fill in."""
        task = self.task
        tables: list[Mapping[str, str]] = [task.env, task.config.verifier.env, self.options.agent_env]
        if self.options.agent == ORACLE:
            tables.append(task.config.solution.env)
        for phase in task.phases:
            tables.append(phase.verifier.env)
            if phase.separate is not None:
                tables.append(phase.separate.env)
        return tables


def limits_of(table: EnvironmentTable) -> ContainerLimits:
    """Return the limits that an environment declares."""
    return ContainerLimits(table.cpus, table.memory_mb, table.storage_mb, table.gpus or 0)


def _settled(policy: NetworkPolicy) -> NetworkPolicy:
    hosts = tuple(dict.fromkeys(host.strip().lower().rstrip(".") for host in policy.hosts))
    return NetworkPolicy(policy.mode, hosts)


class HarborEnvironment:
    """The environment of one episode. Implements core.ports.Environment and core.proxy.Program."""

    def __init__(self, setting: TrialSetting, episode_id: str) -> None:
        self._setting = setting
        self._episode = episode_id

    async def reset(self) -> Observation:
        """Return the instruction; the container starts in `play`."""
        return Observation(self._setting.task.phases[0].instruction)

    async def step(self, action: Any) -> Step:
        """Raise RunAborted: agents work in the container, not by steps."""
        del action
        raise RunAborted("agents work on task folders in containers; use the agent 'program', and -P agent=NAME")

    async def oracle(self) -> Any:
        """Raise EpisodeError: the oracle is an agent in the container."""
        raise EpisodeError(
            Cause.ENVIRONMENT_ERROR, "the oracle of a task folder works in the container: -P agent=oracle"
        )

    async def close(self) -> None:
        """Do nothing: the container is gone when `play` ends."""

    async def play(self, address: ProxyAddress, log: Callable[[str, str], None], seconds: float | None = None) -> Step:
        """Let the agent work for at most `seconds` and verify the result. Raises EpisodeError.

        The time of a verifier does not count. What was started is gone on return, also when the call is cancelled.
        """
        trial = _Trial(self._setting, self._episode, address, log)
        async with AsyncExitStack() as stack:
            trial.stack = stack
            return await trial.run(seconds)


class _Trial:
    """The state of one episode."""

    stack: AsyncExitStack

    def __init__(
        self, setting: TrialSetting, episode_id: str, address: ProxyAddress, log: Callable[[str, str], None]
    ) -> None:
        self.setting = setting
        self.task = setting.task
        self.options = setting.options
        self.episode = episode_id
        self.address = address
        self.log = log
        secrets = secret_values(setting.host) | {address.token}
        for table in setting.variables():
            secrets |= host_values(table, setting.host)
        self.redactor = Redactor(secrets - {""})
        self.bash = BashAgent(address, setting.options.turns)
        self.facts: dict[str, Any] = {}
        self.keep_tests = False

    async def run(self, seconds: float | None) -> Step:
        """Play all phases and return the outcome."""
        port = (urlsplit(self.address.url).port or 80) if self.options.command else None
        spec = self.setting.spec(self.episode, port)
        refused = self.setting.engine.refusals(spec)
        if refused:
            raise EpisodeError(Cause.ENVIRONMENT_INVALID, f"task {self.task.id} cannot run here: {'; '.join(refused)}")
        container = await self._started(spec)
        container.stage = "setup"
        await make_logs(container)
        self.keep_tests = (await container.quietly(_KEPT)).code == 0
        await self._healthy(container, self.task.environment.healthcheck)
        left = seconds if seconds is not None else _UNTIL_STOPPED_S
        outcomes: list[dict[str, float]] = []
        for phase in self.task.phases:
            left -= await self._work(container, phase, left)
            verified = await self._verified(container, phase)
            if verified.cause is not None:
                return self._missing(phase, verified)
            outcomes.append(verified.rewards)
            if failing := _below(phase, verified.rewards):
                self.facts["stopped"] = failing
                break
        return self._step(outcomes)

    async def _started(self, spec: ContainerSpec) -> RecordedContainer:
        inner: Container = await self.setting.engine.start(spec, self.setting.notice)
        self.stack.push_async_callback(inner.stop)
        return RecordedContainer(inner, self.log, self.redactor)

    async def _healthy(self, container: RecordedContainer, check: HealthCheck | None) -> None:
        if check is None:
            return
        started, failures = time.monotonic(), 0
        while failures < max(check.retries, 1):
            ended = await container.exec(ContainerCommand(["sh", "-c", check.command], seconds=check.timeout_sec))
            if ended.code == 0 and not ended.late:
                return
            early = time.monotonic() - started < check.start_period_sec
            failures += not early
            await asyncio.sleep(check.start_interval_sec if early else check.interval_sec)
        raise EpisodeError(
            Cause.ENVIRONMENT_ERROR, f"the container of {self.task.id} is not healthy: {check.command} failed"
        )

    # The agent

    async def _work(self, container: RecordedContainer, phase: Phase, left: float) -> float:
        """Let the agent work on a phase; return the seconds that it took."""
        if phase.name:
            container.stage = "setup"
            await self._staged(container, phase)
        container.stage = "agent"
        await container.admit(_settled(self.task.agent_policy(phase)))
        allowed = min(left, phase.agent.timeout_sec if phase.agent.timeout_sec is not None else left)
        started = time.monotonic()
        try:
            async with asyncio.timeout(max(allowed, 0.0)):
                await self._agent(container, phase, started + allowed)
        except TimeoutError:
            self.facts["agent_late"] = True
            container.say(f"the agent did not end within {allowed:g} s and was ended; what it left is verified")
        return time.monotonic() - started

    async def _staged(self, container: RecordedContainer, phase: Phase) -> None:
        """Prepare a step of a task: remove what verified the step before, and put its files in."""
        if not self.keep_tests:
            await container.quietly(f"rm -rf -- {TESTS}")
        await container.quietly("rm -rf -- /solution /logs/verifier")
        await make_logs(container)
        if phase.workdir is not None:
            where = (await container.inner.exec(ContainerCommand(["pwd"], seconds=60.0))).out.decode().strip() or "/"
            await container.put(phase.workdir, where)
            if (phase.workdir / "setup.sh").is_file():
                script = f"{where.rstrip('/')}/setup.sh"
                words = f"chmod +x {shlex.quote(script)}; {shlex.quote(script)}"
                ended = await container.exec(ContainerCommand(["sh", "-c", words], seconds=_SETUP_S))
                if ended.code:
                    raise EpisodeError(
                        Cause.ENVIRONMENT_ERROR, f"setup.sh of step {phase.name} ended with exit code {ended.code}"
                    )
        await self._healthy(container, phase.healthcheck)

    async def _agent(self, container: RecordedContainer, phase: Phase, until: float) -> None:
        agent, user = self.options.agent, phase.agent.user
        if agent == NOP:
            return
        if agent == BASH:
            reason = await self.bash.work(container, phase.instruction, user, until)
            if reason:
                self.facts["agent_cut"] = reason
            return
        if agent == ORACLE:
            await self._oracle(container, phase, until)
            return
        if agent.startswith(CHEAT):
            script = CONTAINER_CHEATS[agent.removeprefix(CHEAT)].script
            await container.exec(ContainerCommand(["sh", "-c", script], seconds=until - time.monotonic()))
            return
        await self._command(container, phase, until)

    async def _oracle(self, container: RecordedContainer, phase: Phase, until: float) -> None:
        if phase.solution is None:
            raise EpisodeError(
                Cause.ENVIRONMENT_INVALID, f"task {self.task.id} has no solution/solve.sh, so there is no oracle"
            )
        if phase.solve == "solve.sh":
            await container.put(phase.solution, "/solution")
        else:
            await container.put(phase.solution / phase.solve, f"/solution/{phase.solve}")
        script = f"/solution/{phase.solve}"
        await container.quietly('chmod +x -- "$1"', script)
        solving = ContainerCommand(
            ["sh", "-c", f"exec {script}"],
            user=phase.agent.user,
            env={"DEBIAN_FRONTEND": "noninteractive", **resolved(self.task.config.solution.env, self.setting.host)},
            seconds=until - time.monotonic(),
        )
        ended = await container.exec(solving, shown=script)
        self._ended("oracle", ended.code, late=ended.late)

    async def _command(self, container: RecordedContainer, phase: Phase, until: float) -> None:
        """Run a program that is installed in the container; its model is behind the proxy."""
        await self._instruct(container, phase.instruction)
        filled = self.options.command.replace("{instruction}", '"$MESOCOSM_INSTRUCTION"').replace(
            "{model}", shlex.quote(self.address.model)
        )
        env = {
            **resolved(self.options.agent_env, self.setting.host),
            **self.address.variables,
            "MESOCOSM_INSTRUCTION": phase.instruction,
            "MESOCOSM_MODEL": self.address.model,
        }
        seconds = until - time.monotonic()
        ended = await container.exec(
            ContainerCommand(["sh", "-c", filled], user=phase.agent.user, env=env, seconds=seconds), shown=filled
        )
        self._ended("agent", ended.code, late=ended.late)
        if ended.code in {126, 127} and not ended.late:
            said = ended.err.decode(errors="replace")[-2000:]
            raise EpisodeError(
                Cause.PROGRAM_FAILED,
                f"the agent cannot be started in the container: {filled} ended with exit code {ended.code}; "
                "is it installed there?",
                stderr=self.redactor.text(said),
            )

    async def _instruct(self, container: RecordedContainer, instruction: str) -> None:
        with tempfile.TemporaryDirectory(prefix="mesocosm-") as place:
            file = Path(place) / "instruction.md"
            file.write_text(instruction, encoding="utf-8")
            await container.put(file, "/logs/agent/instruction.md")

    def _ended(self, who: str, code: int, *, late: bool) -> None:
        self.facts[f"{who}_exit"] = code
        if late:
            self.facts["agent_late"] = True

    # The verifier

    async def _verified(self, container: RecordedContainer, phase: Phase) -> VerifierOutcome:
        container.stage = "verifier"
        for collected in (*self.task.config.verifier.collect, *(phase.verifier.collect if phase.name else ())):
            await container.exec(
                ContainerCommand(["sh", "-c", collected.command], user=collected.user, seconds=collected.timeout_sec)
            )
        env = resolved({**self.task.config.verifier.env, **phase.verifier.env}, self.setting.host)
        if phase.separate is None:
            await container.admit(_settled(self.task.verifier_policy(phase)))
            await container.quietly("rm -rf -- /solution")
            return await verify(container, phase, env, keep_tests=self.keep_tests)
        return await self._separately(container, phase, env)

    async def _separately(self, container: RecordedContainer, phase: Phase, env: dict[str, str]) -> VerifierOutcome:
        """Verify in a container of its own, which gets the declared artifacts alone."""
        with tempfile.TemporaryDirectory(prefix="mesocosm-") as place:
            found: list[tuple[Path, str]] = []
            for number, artifact in enumerate(phase.artifacts):
                copy = Path(place) / str(number) / Path(artifact.source).name
                copy.parent.mkdir()
                if await container.get(artifact.source, copy):
                    found.append((copy, artifact.source))
                else:
                    container.say(f"there is no artifact {artifact.source}")
            own = await self._started(self.setting.verifier_spec(phase, self.episode))
            own.stage = "verifier"
            await make_logs(own)
            await self._healthy(own, phase.separate.healthcheck if phase.separate is not None else None)
            for copy, target in found:
                await own.put(copy, target)
            keep = (await own.quietly(_KEPT)).code == 0
            return await verify(own, phase, env, keep_tests=keep)

    # The outcome

    def _missing(self, phase: Phase, verified: VerifierOutcome) -> Step:
        where = f"step {phase.name}: " if phase.name else ""
        info = {CAUSE: verified.cause, REASON: self.redactor.text(f"{where}{verified.reason}"), **self.facts}
        return Step(self._shown(), terminated=True, info=info)

    def _step(self, outcomes: list[dict[str, float]]) -> Step:
        strategy = self.task.config.multi_step_reward_strategy
        rewards = outcomes[-1] if len(self.task.phases) == 1 or strategy == "final" else mean(outcomes)
        info: dict[str, Any] = {REWARDS: rewards, **self.facts}
        if len(self.task.phases) > 1:
            names = [phase.name for phase in self.task.phases]
            info["steps"] = [{"name": name, REWARDS: one} for name, one in zip(names, outcomes, strict=False)]
        ranked, _ = primary(rewards, self.options.reward)
        return Step(self._shown(), ranked or 0.0, terminated=True, info=info)

    def _shown(self) -> Observation:
        said = self.bash.last
        return Observation({"messages": [{"role": "assistant", "content": said}]} if said else None)


def _below(phase: Phase, rewards: dict[str, float]) -> str:
    """Return why the steps behind a phase are not played; empty if they are."""
    wanted = phase.min_reward
    if wanted is None:
        return ""
    for name, least in wanted.items() if isinstance(wanted, dict) else [("reward", wanted)]:
        if name not in rewards or rewards[name] < least:
            return f"step {phase.name}: {name} is {rewards.get(name)}, below its min_reward of {least:g}"
    return ""
