"""Display texts for values in records: causes, states, kinds of events, methods.

`docs/generate.py` generates the documentation and the web app's texts from these tables. A test compares their keys
with the enumerations, so every new value needs a text.
"""

from collections.abc import Mapping
from typing import NamedTuple

from mesocosm.core.failure import Boundary, Cause


class CauseWords(NamedTuple):
    """Texts for a cause: a short name for tables, what happened, and what it means or what helps."""

    name: str
    title: str
    advice: str


CAUSES: Mapping[str, CauseWords] = {
    Cause.RATE_LIMITED: CauseWords(
        "Rate limited",
        "The model provider rejected the request: too many requests",
        "Retries did not help. Run fewer episodes in parallel, or resume the run later.",
    ),
    Cause.MODEL_UNAVAILABLE: CauseWords(
        "Model unavailable",
        "The model could not be reached",
        "Its server was down, overloaded, or refused the connection. Resume the run when it is back.",
    ),
    Cause.MODEL_TIMEOUT: CauseWords(
        "Model timed out",
        "The model took too long to reply",
        "No complete reply arrived within the timeout of a call (--timeout).",
    ),
    Cause.MODEL_INVALID: CauseWords(
        "Invalid response",
        "The model server returned an invalid response",
        "The response was not a chat completion. Check the base URL.",
    ),
    Cause.MODEL_REJECTED: CauseWords(
        "Request rejected",
        "The model provider rejected the request as invalid",
        "Sending the same request again would not help. The provider's message says what is wrong.",
    ),
    Cause.MODEL_FORBIDDEN: CauseWords(
        "Access denied",
        "The model provider denied access",
        "The API key is missing, invalid, or out of credit.",
    ),
    Cause.MODEL_MISSING: CauseWords(
        "Model not found",
        "The model does not exist",
        "Check the name of the model and the base URL.",
    ),
    Cause.CONTEXT_OVERFLOW: CauseWords(
        "Context overflow",
        "The conversation exceeded the model's context window",
        "It became longer than the model can read.",
    ),
    Cause.REPLY_TRUNCATED: CauseWords(
        "Reply truncated",
        "The reply was truncated at the token limit",
        "It ended before it contained a clear action. A higher --max-tokens may help.",
    ),
    Cause.MALFORMED_ACTION: CauseWords(
        "Malformed action",
        "The model did not reply with a valid action",
        "No action could be parsed from its reply, even after it was asked again.",
    ),
    Cause.REFUSED: CauseWords(
        "Refused",
        "The model refused",
        "It declined the task, or the provider's content filter withheld its reply.",
    ),
    Cause.CAPABILITY_MISSING: CauseWords(
        "Capability missing",
        "The agent lacks a capability that the task requires",
        "The task needs something the agent does not support, such as images or tools, so it was not played.",
    ),
    Cause.BUDGET: CauseWords(
        "Token budget exceeded",
        "The episode exceeded its token budget",
        "It used more tokens than --episode-tokens allows.",
    ),
    Cause.AGENT_ERROR: CauseWords(
        "Agent error",
        "The agent crashed",
        "Its code raised an exception.",
    ),
    Cause.AGENT_TIMEOUT: CauseWords(
        "Agent timed out",
        "The agent took too long",
        "It did not finish within its time limit.",
    ),
    Cause.WORKFLOW_FAILED: CauseWords(
        "Workflow failed",
        "The workflow raised an exception",
        "The traceback shows where.",
    ),
    Cause.WORKFLOW_INVALID: CauseWords(
        "Invalid workflow result",
        "The workflow returned an invalid result",
        "It must return nothing, or an output whose messages are valid JSON.",
    ),
    Cause.WORKFLOW_TIMEOUT: CauseWords(
        "Workflow timed out",
        "The workflow took too long",
        "It was stopped at its time limit; agent_workflow_timeout_s sets a higher one.",
    ),
    Cause.ENVIRONMENT_ERROR: CauseWords(
        "Environment error",
        "The environment crashed",
        "Its code raised an exception, or it returned an error.",
    ),
    Cause.ENVIRONMENT_TIMEOUT: CauseWords(
        "Environment timed out",
        "The environment took too long",
        "It did not respond within --step-timeout.",
    ),
    Cause.ENVIRONMENT_UNREACHABLE: CauseWords(
        "Environment unreachable",
        "The environment could not be reached",
        "Its process did not start, has ended, or the connection was lost.",
    ),
    Cause.ENVIRONMENT_INVALID: CauseWords(
        "Invalid environment response",
        "The environment returned an invalid response",
        "The response does not follow the protocol.",
    ),
    Cause.SANDBOX_FAILED: CauseWords(
        "Sandbox failed",
        "The sandbox failed",
        "A process could not be started in it.",
    ),
    Cause.GRADER_ERROR: CauseWords(
        "Grader error",
        "The grader failed",
        "The episode was played but could not be scored: scoring raised an exception, or needs a judge that the run "
        "does not have.",
    ),
    Cause.GRADER_TIMEOUT: CauseWords(
        "Grader timed out",
        "The grader took too long",
        "It was stopped at its time limit; grader_timeout_s sets a higher one.",
    ),
    Cause.SKIPPED: CauseWords(
        "Skipped",
        "The grader skipped the sample",
        "It is excluded from all counts on purpose.",
    ),
    Cause.UNVERIFIED: CauseWords(
        "Not verified",
        "The score could not be verified",
        "The evaluator that checks the result is not available on this machine.",
    ),
    Cause.PROGRAM_FAILED: CauseWords(
        "Program failed",
        "The benchmark's program failed",
        "It exited with an error, or left no result. Its output shows why.",
    ),
    Cause.PROGRAM_TIMEOUT: CauseWords(
        "Program timed out",
        "The benchmark's program took too long",
        "It was stopped at its time limit, or printed nothing for too long.",
    ),
    Cause.ROLLOUT_FAILED: CauseWords(
        "Rollout failed",
        "The rollout's process failed",
        "It did not start, exited, or broke its protocol. Its output shows why; resuming the run tries again.",
    ),
    Cause.PROXY_FAILED: CauseWords(
        "Proxy failed",
        "The proxy for the program's model calls failed",
        "Its endpoint could not be opened. Resuming the run tries again.",
    ),
    Cause.VALUE_MISSING: CauseWords(
        "Value missing",
        "The value to score is missing",
        "The last info of the episode lacks the field that the metric reads.",
    ),
    Cause.VALUE_UNUSABLE: CauseWords(
        "Invalid value",
        "The value to score is not a finite number",
        "The environment reported it, but the metric cannot use it.",
    ),
    Cause.STORE_ERROR: CauseWords(
        "Not stored",
        "The results could not be stored",
        "Check the disk and the database.",
    ),
    Cause.CANCELLED: CauseWords(
        "Cancelled",
        "The episode was cancelled",
        "The run stopped before the episode ended. Resuming the run plays it again.",
    ),
    Cause.INTERNAL: CauseWords(
        "Internal error",
        "mesocosm itself failed",
        "This is a bug in mesocosm; please report it.",
    ),
    "not_run": CauseWords(
        "Not played",
        "The episode was not played",
        "It was planned, but never played. Resuming the run plays it.",
    ),
    "agent_failure": CauseWords(
        "Agent failed",
        "The agent failed",
        "The metric has no worst value that the failure could count as.",
    ),
}
"""Why an episode or a score is missing: every `Cause`, and the two causes that occur only in metrics."""

BOUNDARIES: Mapping[str, str] = {
    Boundary.MODEL: "Response of the model server",
    Boundary.AGENT: "Output of the agent",
    Boundary.ENVIRONMENT: "Output of the environment",
    Boundary.GRADER: "Output of the grader",
    Boundary.SANDBOX: "Output of the sandbox",
    Boundary.STORE: "Error of the database",
    Boundary.PROXY: "Error of the proxy",
    Boundary.ENGINE: "Details",
}
"""The heading above the evidence of a failure."""

RUN_STATES: Mapping[str, str] = {
    "pending": "Waiting to start",
    "running": "In progress",
    "finished": "Every planned episode was played",
    "completed": "Every planned episode was played",
    "partial": "Too many episodes have no value, so the run is not ranked. Resume it to play them again",
    "failed": "No episode could be scored, or the run aborted",
    "stopped": "Stopped before the end; can be resumed",
    "cancelled": "Cancelled before the end",
    "interrupted": "Its process exited unexpectedly; can be resumed",
}

EPISODE_STATES: Mapping[str, str] = {
    "pending": "Not started",
    "running": "In progress",
    "completed": "Played to the end",
    "truncated": "Reached the step limit",
    "timeout": "Reached the time limit",
    "failed": "Could not be played to the end",
    "cancelled": "Cancelled before the end",
}

EVENTS: Mapping[str, str] = {
    "observation": "Observation",
    "message": "Message",
    "model_call": "Model",
    "action": "Action",
    "tool_call": "Tool call",
    "step_result": "Result",
    "technique_event": "Technique",
    "warning": "Warning",
    "retry": "Retry",
    "error": "Error",
    "score": "Score",
    "log": "Log",
    "episode_start": "Start",
    "episode_end": "End",
}
"""Kinds of events, in the order in which filters list them."""

AGGREGATIONS: Mapping[str, str] = {
    "mean": "mean of all {unit}s",
    "median": "median of all {unit}s",
    "max": "highest of all {unit}s",
    "min": "lowest of all {unit}s",
    "sum": "sum over all {unit}s",
    "pass_rate": "share of {unit}s that passed",
}

METHODS: Mapping[str, str] = {
    "wilson": "Wilson interval",
    "effective wilson": "Wilson interval of the effective number of trials",
    "hall": "t interval corrected for skewness",
    "student": "Student t interval",
    "clustered": "interval clustered by task",
    "bootstrap": "bootstrap interval",
    "exact bootstrap": "exact bootstrap interval",
    "woodruff": "Woodruff interval",
    "tango": "Tango score interval",
    "miettinen-nurminen": "Miettinen-Nurminen score interval",
    "welch": "Welch interval",
    "influence": "interval from influence values",
    "pearson": "Fisher z interval of Pearson's r",
    "spearman": "Fisher z interval of Spearman's rho",
    "lang-reiczigel": "Lang-Reiczigel interval",
    "none": "no interval",
    "program's stderr": "the standard error that the program hands in",
}
"""How an interval was computed."""

SPACES: Mapping[str, str] = {
    "discrete": "one of a list",
    "continuous": "numbers",
    "text": "text",
    "json": "JSON",
    "image": "image",
    "multi_modal": "several kinds of content",
    "composite": "several parts",
}

REWARDS: Mapping[str, str] = {
    "scalar": "a number after every step",
    "vector": "several numbers after every step",
    "sparse": "a number after some steps, usually the last",
    "binary": "success or failure",
}

BUILD_STATES: Mapping[str, tuple[str, str]] = {
    "queued": ("Queue", "Waiting for a worker"),
    "cloning": ("Clone", "Fetching the repository and pinning the commit"),
    "checking": ("Check", "Reading the manifest, checking its vow and scoring"),
    "installing": ("Install", "Installing the requirements in a virtual environment"),
    "testing": ("Test", "Starting the adapter and playing one step"),
    "ready": ("Ready", "Ready to run"),
    "failed": ("Failed", "The build failed"),
}
"""States of the build of an environment, in their order."""

CHECKS: Mapping[str, tuple[str, str]] = {
    "passed": ("checked by its author", "The author ran `mesocosm check` and it found no problems"),
    "failed": ("check failed", "The author ran `mesocosm check` and it found problems"),
    "outdated": ("check outdated", "The environment changed after the author ran `mesocosm check`"),
    "unchecked": ("not checked", "The author submitted no result of `mesocosm check`"),
}
"""States of an environment's `mesocosm check`."""
