"""Grade a program by the tests of its row, run in a sandbox."""

import asyncio
import math
import re
import weakref
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, field_validator

from mesocosm.core.thought import split_thought
from mesocosm.rollouts.graders.answer import AnswerConfig, MissingLabel, extract
from mesocosm.rollouts.graders.ready import NOTHING, GraderVerdict, ReadyGrader
from mesocosm.rollouts.graders.tests_of import Dialogue, Tests, read_tests
from mesocosm.rollouts.sdk.context import GraderContext

if TYPE_CHECKING:
    from pathlib import Path

    from mesocosm.sandboxes.programs import Ended, Programs

_WALL_FACTOR = 2
_WALL_SPARE = 5.0
"""Wall-clock limit as a multiple of the CPU limit, plus seconds, because machines are shared."""
_MOST_PROGRAM = 100_000
PYTHON, JAVASCRIPT = "python", "javascript"
ANY = "any"
"""The language that the answer's last fence with a known name has."""
TAGS = {
    PYTHON: ("python", "python3", "py", "py3", "ipython"),
    JAVASCRIPT: ("javascript", "js", "node", "nodejs", "mjs", "cjs"),
    "bash": ("bash", "sh", "shell"),
    "c": ("c",),
    "cpp": ("cpp", "c++", "cc", "cxx"),
    "rust": ("rust", "rs"),
    "java": ("java",),
}
"""The languages, and their names on fences."""
_MORE_DATA_MIB = 256
"""What the machine of another language takes for itself."""
_PROSE = re.compile(r"[A-Z][^\n=(){}\[\];#<>]*[.:!?]")


class CodeConfig(AnswerConfig):
    """Options of the grader `code`.

    `tests_from`: the metadata with the tests; without it the label holds them. `entry_point`, or `entry_point_from` in
    the metadata: the function or class under test. `language`, or `language_from` in the metadata: what the answer is
    written in, `any` for what its fence names; functions and classes are tested in Python and JavaScript, whole
    programs in all languages. The limits `seconds` of CPU time and `memory_mb` apply to one answer, or to one dialogue
    with it. `reward`: 1 if all tests pass, or the share that passes. `unsafe` runs programs without isolation if the
    machine has none.
    """

    name: str = "code"
    tests_from: str = ""
    entry_point: str = Field(default="", pattern=r"^(?:[A-Za-z_]\w*)?$")
    entry_point_from: str = ""
    language: str = PYTHON
    language_from: str = ""
    seconds: float = Field(default=10.0, gt=0, le=600, allow_inf_nan=False)
    memory_mb: int = Field(default=512, ge=64, le=65_536)
    reward: Literal["all", "share"] = "all"
    unsafe: bool = False
    max_chars: int = Field(default=_MOST_PROGRAM, ge=1, le=_MOST_PROGRAM)

    @field_validator("language")
    @classmethod
    def _known(cls, language: str) -> str:
        found = ANY if language == ANY else _language_named(language)
        if found is None:
            raise ValueError(f"language must be one of {', '.join(TAGS)}, {ANY}, not {language!r:.40}")
        return found


class CodeRule:
    """Grade the answer's program by the tests that it passes; the score `tests_passed` is their share."""

    def __init__(self, config: CodeConfig | None = None) -> None:
        self.config: CodeConfig = config or CodeConfig()

    async def grade(self, reply: str, label: str | None, metadata: Mapping[str, Any] | None = None) -> GraderVerdict:
        """Return the verdict on a reply.

        Raises MissingLabel if the row has no usable tests, RuntimeError if programs cannot be isolated here,
        EpisodeError if they could not be started.
        """
        language = self._language(metadata)
        tests = read_tests(self._held(label, metadata), self._entry_point(metadata))
        chosen = self.config.language == ANY and not self.config.language_from
        language = _fenced_language(reply[-self.config.max_chars :]) if chosen else language
        if not tests.dialogues and language not in (PYTHON, JAVASCRIPT):
            problem = f"functions cannot be tested in {language}"
            if chosen:
                return GraderVerdict(0.0, {"tests_passed": 0.0}, problem)
            raise MissingLabel(f"{problem}; give the row tests with stdin and stdout")
        program = self.program(reply, language)
        if not program:
            return GraderVerdict(0.0, {"tests_passed": 0.0}, f"{NOTHING}: no code")
        check = self._talk if tests.dialogues else self._check
        reasons = await check(program, tests, language)
        share = reasons.count("") / len(reasons)
        value = share if self.config.reward == "share" else float(share == 1)
        first = next(filter(None, reasons), "")
        return GraderVerdict(
            value, {"tests_passed": share}, f"{reasons.count('')} of {len(reasons)} passed: {first}" * bool(first)
        )

    def program(self, reply: str, language: str = PYTHON) -> str:
        """Return the program in a reply: its last block in the language, or without a tag, or the last one at all.

        Without a fence it is the whole reply, without sentences around it.
        """
        if self.config.after or self.config.pattern or self.config.last:
            return extract(reply, self.config)
        if len(reply) > self.config.max_chars:
            return ""
        if re.match(r"\s*<think", reply):
            reply = split_thought(reply)[1]
        blocks = [(tag, block) for tag, block in _blocks(reply) if block.strip()]
        for tags in (TAGS[language], ("",)):
            if found := [block for tag, block in blocks if tag in tags]:
                return found[-1]
        return blocks[-1][1] if blocks else _without_prose(reply)

    def _language(self, metadata: Mapping[str, Any] | None) -> str:
        if not self.config.language_from:
            return self.config.language
        held = (metadata or {}).get(self.config.language_from)
        if (found := _language_named(str(held))) is None:
            known, name = ", ".join(TAGS), self.config.language_from
            raise MissingLabel(f"metadata {name!r} should be one of {known}, and is {held!r:.80}")
        return found

    def _held(self, label: str | None, metadata: Mapping[str, Any] | None) -> object:
        return (metadata or {}).get(self.config.tests_from) if self.config.tests_from else label

    def _entry_point(self, metadata: Mapping[str, Any] | None) -> str:
        name = self.config.entry_point_from
        held = (metadata or {}).get(name) if name else self.config.entry_point
        if name and not (isinstance(held, str) and held.isidentifier()):
            raise MissingLabel(f"metadata {name!r} should name the function that is tested, and is {held!r:.80}")
        return str(held)

    async def _check(self, program: str, tests: Tests, language: str) -> list[str]:
        runner, command = _runner(self.config, language, functions=True), []
        from mesocosm.sandboxes.functions import Submission, check

        if language == JAVASCRIPT:
            from mesocosm.sandboxes.javascript import DRIVER

            command = [str(_tool(language)), f"--max-old-space-size={self.config.memory_mb}", "-e", DRIVER]
        submission = Submission([program], tests.calls, tests.names, setup=tests.setup, command=command)
        reasons = await check(submission, runner, cpu_seconds=_cpu_seconds(self.config), seconds=self._wall_seconds)
        names = [f"{call.get('code', call.get('args'))}"[:200] for call in tests.calls]
        return [reason and f"{test}: {reason}" for test, reason in zip(names, reasons, strict=True)]

    async def _talk(self, program: str, tests: Tests, language: str) -> list[str]:
        runner, found = _runner(self.config, language), []
        for dialogue in tests.dialogues:
            data = dialogue.stdin.encode("utf-8", "replace")
            found.append(_compared(await runner.run(program, stdin=data, seconds=self._wall_seconds), dialogue))
        return found

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


def _language_named(name: str) -> str | None:
    return next((language for language, tags in TAGS.items() if name.strip().lower() in tags), None)


def _blocks(text: str) -> list[tuple[str, str]]:
    """Return the fenced blocks with the names of their languages; the end of the text closes an open one."""
    blocks: list[tuple[str, str]] = []
    fence, tag, lines = "", "", [""]
    for line in text.split("\n"):
        bare = line.strip()
        if not fence and bare.startswith(("```", "~~~")):
            rest = bare.lstrip(bare[0])
            fence, lines = bare[: len(bare) - len(rest)], []
            tag = re.split(r"[\s:{,]", rest.strip().lstrip("{."), maxsplit=1)[0].rstrip("}").lower()
        elif fence and bare.startswith(fence) and not bare.strip(fence[0]):
            blocks.append((tag, "\n".join(lines)))
            fence = ""
        elif fence:
            lines.append(line)
    return [*blocks, (tag, "\n".join(lines))] if fence else blocks


def _fenced_language(reply: str) -> str:
    named = [language for tag, _ in _blocks(reply) if (language := _language_named(tag)) is not None]
    return named[-1] if named else PYTHON


def _without_prose(reply: str) -> str:
    """Return a reply without the sentences at its beginning and behind an empty line at its end."""
    lines = reply.strip().split("\n")
    start, end = 0, len(lines)
    while start < end and (not lines[start].strip() or _PROSE.fullmatch(lines[start].strip())):
        start += 1
    while end > start and _PROSE.fullmatch(lines[end - 1]) and not lines[end - 2].strip():
        end -= 2
    return "\n".join(lines[start:end]).strip() or reply.strip()


_RUNNERS: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, dict[tuple[object, ...], Programs]]" = (
    weakref.WeakKeyDictionary()
)
"""Runners by event loop, since loops cannot share slots, and by their languages and limits."""


def _tool(language: str) -> "Path":
    """Return the program that runs a language. Raises RuntimeError if it is not installed here."""
    from mesocosm.sandboxes.languages import LANGUAGES

    found = LANGUAGES[language].path()
    if found is None:
        raise RuntimeError(
            f"the grader code needs {LANGUAGES[language].tool} for answers in {language}; install it on this machine"
        )
    return found


def _runner(config: CodeConfig, language: str, *, functions: bool = False) -> "Programs":
    """Return the runner with the limits of `config`. Raises RuntimeError if nothing can be isolated here."""
    try:
        from mesocosm.sandboxes.bubblewrap import available
        from mesocosm.sandboxes.languages import LANGUAGES
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
    key = (config.seconds, config.memory_mb, config.unsafe, language, functions)
    if key in runners:
        return runners[key]
    allowance = replace(SMALL, cpu_seconds=2 * _cpu_seconds(config) + 2, memory_bytes=config.memory_mb * MIB)
    if language == PYTHON:
        runners[key] = Programs(allowance, unsafe=config.unsafe)
        return runners[key]
    # Machines of other languages reserve far more addresses than they use, and start threads of their own.
    data = (config.memory_mb + _MORE_DATA_MIB) * MIB
    allowance = replace(allowance, memory_bytes=None, data_bytes=data, processes=64, open_files=256)
    allowance = replace(allowance, file_bytes=64 * MIB, scratch_bytes=128 * MIB)
    chosen, tool = LANGUAGES[language], _tool(language)
    command = [] if functions else chosen.command(tool)
    runners[key] = Programs(allowance, unsafe=config.unsafe, command=command, readable=chosen.readable(tool))
    return runners[key]


def _cpu_seconds(config: CodeConfig) -> int:
    return max(1, math.ceil(config.seconds))


class CodeGrader(ReadyGrader[CodeConfig]):
    """The rule as an SDK grader."""

    Config: ClassVar[type[CodeConfig]] = CodeConfig

    def lacking(self) -> str:
        """Return what is not installed for the language."""
        if self.options.language in (PYTHON, ANY):
            return ""
        try:
            _tool(self.options.language)
        except RuntimeError as error:
            return str(error)
        return ""

    async def verdict(self, ctx: GraderContext, reply: str) -> GraderVerdict:
        """Run the reply's program and return the result."""
        return await CodeRule(self.options).grade(reply, ctx.label, ctx.metadata)
