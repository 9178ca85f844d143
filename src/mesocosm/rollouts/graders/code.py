"""Grade a Python program by the tests of its row, run in a sandbox."""

import asyncio
import math
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from mesocosm.rollouts.graders.answer import AnswerConfig, MissingLabel, extract, fenced
from mesocosm.rollouts.graders.ready import NOTHING, GraderVerdict, ReadyGrader
from mesocosm.rollouts.graders.tests_of import Dialogue, Tests, read_tests
from mesocosm.rollouts.sdk.context import GraderContext

if TYPE_CHECKING:
    from mesocosm.sandboxes.programs import Ended, Programs

_WALL_FACTOR = 2
_WALL_SPARE = 5.0
"""Wall-clock limit as a multiple of the CPU limit, plus seconds, because machines are shared."""
_MOST_PROGRAM = 100_000


class CodeConfig(AnswerConfig):
    """Options of the grader `code`.

    `tests_from`: the metadata with the tests; without it the label holds them. `entry_point`, or `entry_point_from` in
    the metadata: the function under test. The limits `seconds` of CPU time and `memory_mb` apply to one answer, or to
    one dialogue with it. `reward`: 1 if all tests pass, or the share that passes. `unsafe` runs programs without
    isolation if the machine has none.
    """

    name: str = "code"
    tests_from: str = ""
    entry_point: str = Field(default="", pattern=r"^(?:[A-Za-z_]\w*)?$")
    entry_point_from: str = ""
    seconds: float = Field(default=10.0, gt=0, le=600, allow_inf_nan=False)
    memory_mb: int = Field(default=512, ge=64, le=65_536)
    reward: Literal["all", "share"] = "all"
    unsafe: bool = False
    max_chars: int = Field(default=_MOST_PROGRAM, ge=1, le=_MOST_PROGRAM)


class CodeRule:
    """Grade the answer's program by the tests that it passes; the score `tests_passed` is their share."""

    def __init__(self, config: CodeConfig | None = None) -> None:
        self.config: CodeConfig = config or CodeConfig()

    async def grade(self, reply: str, label: str | None, metadata: Mapping[str, Any] | None = None) -> GraderVerdict:
        """Return the verdict on a reply.

        Raises MissingLabel if the row has no usable tests, RuntimeError if programs cannot be isolated here,
        EpisodeError if they could not be started.
        """
        tests = read_tests(self._held(label, metadata), self._entry_point(metadata))
        program = self.program(reply)
        if not program:
            return GraderVerdict(0.0, {"tests_passed": 0.0}, f"{NOTHING}: no code")
        reasons = await (self._talk(program, tests) if tests.dialogues else self._check(program, tests))
        share = reasons.count("") / len(reasons)
        value = share if self.config.reward == "share" else float(share == 1)
        first = next(filter(None, reasons), "")
        return GraderVerdict(
            value, {"tests_passed": share}, f"{reasons.count('')} of {len(reasons)} passed: {first}" * bool(first)
        )

    def program(self, reply: str) -> str:
        """Return the program in a reply: its last fenced block, or the whole reply."""
        if self.config.after or self.config.pattern or self.config.last:
            return extract(reply, self.config)
        if len(reply) > self.config.max_chars:
            return ""
        blocks = [block for block in fenced(reply) if block.strip()]
        return blocks[-1] if blocks else reply.strip()

    def _held(self, label: str | None, metadata: Mapping[str, Any] | None) -> object:
        return (metadata or {}).get(self.config.tests_from) if self.config.tests_from else label

    def _entry_point(self, metadata: Mapping[str, Any] | None) -> str:
        name = self.config.entry_point_from
        held = (metadata or {}).get(name) if name else self.config.entry_point
        if name and not (isinstance(held, str) and held.isidentifier()):
            raise MissingLabel(f"metadata {name!r} should name the function that is tested, and is {held!r:.80}")
        return str(held)

    async def _check(self, program: str, tests: Tests) -> list[str]:
        runner = _runner(self.config)
        from mesocosm.sandboxes.functions import Submission, check

        submission = Submission([program], tests.calls, tests.names, setup=tests.setup)
        reasons = await check(submission, runner, cpu_seconds=_cpu_seconds(self.config), seconds=self._wall_seconds)
        names = [f"{call.get('code', call.get('args'))}"[:200] for call in tests.calls]
        return [reason and f"{test}: {reason}" for test, reason in zip(names, reasons, strict=True)]

    async def _talk(self, program: str, tests: Tests) -> list[str]:
        return [_compared(await self._run(program, dialogue.stdin), dialogue) for dialogue in tests.dialogues]

    async def _run(self, source: str, stdin: str) -> "Ended":
        data = stdin.encode("utf-8", "replace")
        return await _runner(self.config).run(source, stdin=data, seconds=self._wall_seconds)

    @property
    def _wall_seconds(self) -> float:
        return _WALL_FACTOR * self.config.seconds + _WALL_SPARE


def _compared(ended: "Ended", dialogue: Dialogue) -> str:
    """Return how the output differs from the expected one, ignoring trailing white space of lines and text."""
    if ended.how != "ok":
        return f"the program ended with {ended.how}: {ended.stderr[-300:]}"
    given = _lines(ended.stdout.decode("utf-8", "replace"))
    return "" if given == _lines(dialogue.stdout) else f"the program said {' / '.join(given)!r:.200}"


def _lines(text: str) -> list[str]:
    return [line.rstrip() for line in text.rstrip().split("\n")]


_RUNNERS: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[float, int, bool], Programs]]" = (
    weakref.WeakKeyDictionary()
)
"""Runners by event loop, since loops cannot share slots, and by their limits."""


def _runner(config: CodeConfig) -> "Programs":
    """Return the runner with the limits of `config`. Raises RuntimeError if nothing can be isolated here."""
    try:
        from dataclasses import replace

        from mesocosm.sandboxes.bubblewrap import available
        from mesocosm.sandboxes.program_limits import MIB
        from mesocosm.sandboxes.programs import SMALL, Programs
    except ImportError as error:
        raise RuntimeError(
            "the grader code needs the package mesocosm in the rollout's environment; install it there, or name the "
            "grader in the table [grader] of the configuration, which runs it outside"
        ) from error
    if not config.unsafe and not (works := available()):
        raise RuntimeError(
            f"the answers are programs that a model wrote, and {works.reason}; or take the risk with unsafe = true"
        )
    runners = _RUNNERS.setdefault(asyncio.get_running_loop(), {})
    key = (config.seconds, config.memory_mb, config.unsafe)
    if key not in runners:
        cpu = 2 * _cpu_seconds(config) + 2
        allowance = replace(SMALL, cpu_seconds=cpu, memory_bytes=config.memory_mb * MIB)
        runners[key] = Programs(allowance, unsafe=config.unsafe)
    return runners[key]


def _cpu_seconds(config: CodeConfig) -> int:
    return max(1, math.ceil(config.seconds))


class CodeGrader(ReadyGrader[CodeConfig]):
    """The rule as an SDK grader."""

    Config: ClassVar[type[CodeConfig]] = CodeConfig

    async def verdict(self, ctx: GraderContext, reply: str) -> GraderVerdict:
        """Run the reply's program and return the result."""
        return await CodeRule(self.options).grade(reply, ctx.label, ctx.metadata)
