"""Exceptions and causes of failure: who must act, and what each means for the measurement.

Exceptions::

    MesocosmError
    ├── UsageError              the caller's input cannot work: flags, files, names          exit 2
    │   ├── InvalidInput        a list of problems, each with its path
    │   └── UnknownName         with a suggestion
    ├── InfrastructureError     store, disk or database cannot be used                       exit 4
    │   └── RunLeased           another process works on this run
    ├── Incompatible            this machine lacks what a benchmark needs                    exit 4
    ├── RunAborted              the run cannot continue: every episode would fail alike      exit 4
    └── EpisodeError            one episode failed; the run continues
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any

import msgspec

from mesocosm.core.foreign import finite


class Boundary(StrEnum):
    """The component boundary at which an exception entered our code."""

    MODEL = "model"
    AGENT = "agent"
    ENVIRONMENT = "environment"
    GRADER = "grader"
    SANDBOX = "sandbox"
    STORE = "store"
    PROXY = "proxy"
    ENGINE = "engine"


class Cause(StrEnum):
    """Why an episode has no ordinary score."""

    RATE_LIMITED = "rate_limited"
    MODEL_UNAVAILABLE = "model_unavailable"
    MODEL_TIMEOUT = "model_timeout"
    MODEL_INVALID = "model_invalid"
    MODEL_REJECTED = "model_rejected"
    MODEL_FORBIDDEN = "model_forbidden"
    MODEL_MISSING = "model_missing"
    CONTEXT_OVERFLOW = "context_overflow"
    REPLY_TRUNCATED = "reply_truncated"
    MALFORMED_ACTION = "malformed_action"
    REFUSED = "refused"
    CAPABILITY_MISSING = "capability_missing"
    BUDGET = "token_budget_exceeded"
    AGENT_ERROR = "agent_error"
    AGENT_TIMEOUT = "agent_timeout"
    WORKFLOW_FAILED = "workflow_failed"
    WORKFLOW_INVALID = "workflow_invalid"
    WORKFLOW_TIMEOUT = "workflow_timeout"
    ENVIRONMENT_ERROR = "environment_error"
    ENVIRONMENT_TIMEOUT = "environment_timeout"
    ENVIRONMENT_UNREACHABLE = "environment_unreachable"
    ENVIRONMENT_INVALID = "environment_invalid"
    SANDBOX_FAILED = "sandbox_failed"
    GRADER_ERROR = "grader_error"
    GRADER_TIMEOUT = "grader_timeout"
    SKIPPED = "skipped"
    VALUE_MISSING = "value_missing"
    VALUE_UNUSABLE = "value_unusable"
    UNVERIFIED = "unverified"
    PROGRAM_FAILED = "program_failed"
    PROGRAM_TIMEOUT = "program_timeout"
    ROLLOUT_FAILED = "rollout_failed"
    PROXY_FAILED = "proxy_failed"
    STORE_ERROR = "store_error"
    CANCELLED = "cancelled"
    INTERNAL = "internal_error"


class CauseRule(msgspec.Struct, frozen=True):
    """What a cause means for the call, the episode, and the run.

    `retried`: the call is repeated within the episode. `valid`: the agent caused the failure, so it counts as the
    metric's worst value. `pending`: infrastructure failed, so the attempt is not a result; its record is kept as
    evidence, and the episode runs again. `fatal`: every further episode would fail alike, so the run ends and its
    remaining episodes stay pending. If none of these is set, the scores are missing, with this cause.
    """

    boundary: Boundary
    retried: bool = False
    valid: bool = False
    fatal: bool = False
    pending: bool = False


RULES: dict[Cause, CauseRule] = {
    Cause.RATE_LIMITED: CauseRule(Boundary.MODEL, retried=True, pending=True),
    Cause.MODEL_UNAVAILABLE: CauseRule(Boundary.MODEL, retried=True, pending=True),
    Cause.MODEL_TIMEOUT: CauseRule(Boundary.MODEL, retried=True, pending=True),
    Cause.MODEL_INVALID: CauseRule(Boundary.MODEL, retried=True, pending=True),
    Cause.MODEL_REJECTED: CauseRule(Boundary.MODEL, pending=True),
    Cause.MODEL_FORBIDDEN: CauseRule(Boundary.MODEL, fatal=True),
    Cause.MODEL_MISSING: CauseRule(Boundary.MODEL, fatal=True),
    Cause.CONTEXT_OVERFLOW: CauseRule(Boundary.AGENT, valid=True),
    Cause.REPLY_TRUNCATED: CauseRule(Boundary.AGENT, valid=True),
    Cause.MALFORMED_ACTION: CauseRule(Boundary.AGENT, valid=True),
    Cause.REFUSED: CauseRule(Boundary.AGENT, valid=True),
    Cause.CAPABILITY_MISSING: CauseRule(Boundary.AGENT, valid=True),
    Cause.BUDGET: CauseRule(Boundary.AGENT, valid=True),
    Cause.AGENT_ERROR: CauseRule(Boundary.AGENT, valid=True),
    Cause.AGENT_TIMEOUT: CauseRule(Boundary.AGENT, valid=True),
    Cause.WORKFLOW_FAILED: CauseRule(Boundary.AGENT, valid=True),
    Cause.WORKFLOW_INVALID: CauseRule(Boundary.AGENT, valid=True),
    Cause.WORKFLOW_TIMEOUT: CauseRule(Boundary.AGENT, valid=True),
    Cause.ENVIRONMENT_ERROR: CauseRule(Boundary.ENVIRONMENT),
    Cause.ENVIRONMENT_TIMEOUT: CauseRule(Boundary.ENVIRONMENT),
    Cause.ENVIRONMENT_UNREACHABLE: CauseRule(Boundary.ENVIRONMENT, pending=True),
    Cause.ENVIRONMENT_INVALID: CauseRule(Boundary.ENVIRONMENT),
    Cause.SANDBOX_FAILED: CauseRule(Boundary.SANDBOX, pending=True),
    Cause.GRADER_ERROR: CauseRule(Boundary.GRADER),
    Cause.GRADER_TIMEOUT: CauseRule(Boundary.GRADER),
    Cause.SKIPPED: CauseRule(Boundary.GRADER),
    Cause.VALUE_MISSING: CauseRule(Boundary.GRADER),
    Cause.VALUE_UNUSABLE: CauseRule(Boundary.GRADER),
    Cause.UNVERIFIED: CauseRule(Boundary.GRADER),
    Cause.PROGRAM_FAILED: CauseRule(Boundary.SANDBOX),
    Cause.PROGRAM_TIMEOUT: CauseRule(Boundary.SANDBOX),
    Cause.ROLLOUT_FAILED: CauseRule(Boundary.SANDBOX, pending=True),
    Cause.PROXY_FAILED: CauseRule(Boundary.PROXY, pending=True),
    Cause.STORE_ERROR: CauseRule(Boundary.STORE, pending=True),
    Cause.CANCELLED: CauseRule(Boundary.ENGINE, pending=True),
    Cause.INTERNAL: CauseRule(Boundary.ENGINE, pending=True),
}


OF_CODE = frozenset({Cause.WORKFLOW_FAILED, Cause.AGENT_ERROR})
"""Failures of an agent's own code. If it has asked no model before, they say nothing about one."""


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """A stored failure. `detail` and `stderr` hold the original output of the foreign program or endpoint."""

    cause: Cause
    boundary: Boundary
    message: str
    detail: str = ""
    stderr: str = ""


class MesocosmError(Exception):
    """Root of all exceptions raised on purpose. The message says what happened, to what, and what to do next.

    >>> issubclass(UsageError, MesocosmError)
    True
    """

    exit_code = 1


class UsageError(MesocosmError):
    """The caller's input cannot be used as it is.

    >>> try:
    ...     evaluate("no-such-benchmark", model="builtin/oracle")
    ... except UsageError as error:
    ...     print(str(error).partition(";")[0])
    no benchmark is called 'no-such-benchmark'
    """

    exit_code = 2


class Problem(msgspec.Struct, frozen=True, omit_defaults=True):
    """One problem in a document: its path (`binding_vow.action_space.fields.a`), the message, and how to fix it."""

    path: str
    message: str
    fix: str = ""
    severity: str = "error"

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class InvalidInput(UsageError):
    """A document breaks its rules; `problems` lists all of them, not only the first."""

    def __init__(self, subject: str, problems: Iterable[Problem]) -> None:
        self.subject = subject
        self.problems: tuple[Problem, ...] = tuple(problems)
        lines = [f"{subject}: {len(self.problems)} problem{'s' * (len(self.problems) != 1)}"]
        for problem in self.problems:
            lines.append(f"  {problem}")
            if problem.fix:
                lines.append(f"      → {problem.fix}")
        super().__init__("\n".join(lines))


class UnknownName(UsageError):
    """Nothing is registered or stored under this name."""


class InfrastructureError(MesocosmError):
    """The store or the machine cannot be used. Data committed before stays readable.

    >>> InfrastructureError("the disk is full").exit_code
    4
    """

    exit_code = 4


class Incompatible(MesocosmError):
    """This machine lacks what a benchmark needs; `missing` lists each item with its remedy."""

    exit_code = 4

    def __init__(self, subject: str, missing: Iterable[str]) -> None:
        self.missing: tuple[str, ...] = tuple(missing)
        super().__init__(f"{subject} cannot run here: {'; '.join(self.missing)}")


class RunLeased(InfrastructureError):
    """Another live process works on this run; the message names it."""


class RunAborted(MesocosmError):
    """The run stopped because every further episode would fail in the same way.

    >>> try:
    ...     evaluate(rows, prompt="{question}", model="openai/adder@http://127.0.0.1:9/v1")
    ... except RunAborted as error:
    ...     print(str(error).partition(" at ")[0])
    openai/adder: nothing answers
    """

    exit_code = 4


class EpisodeError(MesocosmError):
    """One episode failed for a known cause.

    `retry_after` is the wait in seconds that the server requested, None if it requested none. `overload` is True if
    the server is busy (429, 503), so that lower concurrency may help. `status` is the HTTP status of its response, None
    without a response. `facts` are stored in the episode's `terminal_info`.
    """

    def __init__(
        self,
        cause: Cause,
        message: str,
        *,
        detail: str = "",
        stderr: str = "",
        retry_after: float | None = None,
        overload: bool = False,
        status: int | None = None,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.cause = cause
        self.detail = detail
        self.stderr = stderr
        self.retry_after: float | None = finite(retry_after, least=0.0)
        self.facts: dict[str, Any] = dict(facts or {})
        self.overload: bool = overload or cause is Cause.RATE_LIMITED

    @property
    def rule(self) -> CauseRule:
        """The row of the failure table for this cause."""
        return RULES[self.cause]

    def failure(self) -> Failure:
        """Return the stored form."""
        message, detail, stderr = map(legible, (str(self), self.detail, self.stderr))
        return Failure(self.cause, self.rule.boundary, message, detail, stderr)


class ServiceError(EpisodeError):
    """A service beside model and environment failed, such as a tool server, which its message names.

    It is `away` if it did not do what was asked of it, and may do that later.
    """

    def __init__(self, cause: Cause, message: str, *, away: bool = False, stderr: str = "") -> None:
        super().__init__(cause, message, stderr=stderr)
        self.away = away


def writable(text: str) -> str:
    """Return `text` with lone surrogates (as in undecodable file names) escaped, because UTF-8 cannot encode them."""
    return text if text.isascii() else text.encode(errors="backslashreplace").decode()


_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def legible(text: str) -> str:
    """Return foreign text safe for a terminal: colour codes removed, control characters and lone surrogates escaped."""
    text = writable(text)
    if text.isprintable():
        return text
    plain = _COLOUR.sub("", text.replace("\r\n", "\n"))
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", plain)
