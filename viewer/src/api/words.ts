// Made by docs/generate.py from mesocosm.core.words and the enumerations. Do not edit.

export const CAUSES = {
  "rate_limited": {"name": "Rate limited", "title": "The model provider rejected the request: too many requests", "advice": "Retries did not help. Run fewer episodes in parallel, or resume the run later."},
  "model_unavailable": {"name": "Model unavailable", "title": "The model could not be reached", "advice": "Its server was down, overloaded, or refused the connection. Resume the run when it is back."},
  "model_timeout": {"name": "Model timed out", "title": "The model took too long to reply", "advice": "No complete reply arrived within the timeout of a call (--timeout)."},
  "model_invalid": {"name": "Invalid response", "title": "The model server returned an invalid response", "advice": "The response was not a chat completion. Check the base URL."},
  "model_rejected": {"name": "Request rejected", "title": "The model provider rejected the request as invalid", "advice": "Sending the same request again would not help. The provider's message says what is wrong."},
  "model_forbidden": {"name": "Access denied", "title": "The model provider denied access", "advice": "The API key is missing, invalid, or out of credit."},
  "model_missing": {"name": "Model not found", "title": "The model does not exist", "advice": "Check the name of the model and the base URL."},
  "context_overflow": {"name": "Context overflow", "title": "The conversation exceeded the model's context window", "advice": "It became longer than the model can read."},
  "reply_truncated": {"name": "Reply truncated", "title": "The reply was truncated at the token limit", "advice": "It ended before it contained a clear action. A higher --max-tokens may help."},
  "malformed_action": {"name": "Malformed action", "title": "The model did not reply with a valid action", "advice": "No action could be parsed from its reply, even after it was asked again."},
  "refused": {"name": "Refused", "title": "The model refused", "advice": "It declined the task, or the provider's content filter withheld its reply."},
  "capability_missing": {"name": "Capability missing", "title": "The agent lacks a capability that the task requires", "advice": "The task needs something the agent does not support, such as images or tools, so it was not played."},
  "token_budget_exceeded": {"name": "Token budget exceeded", "title": "The episode exceeded its token budget", "advice": "It used more tokens than --episode-tokens allows."},
  "agent_error": {"name": "Agent error", "title": "The agent crashed", "advice": "Its code raised an exception."},
  "agent_timeout": {"name": "Agent timed out", "title": "The agent took too long", "advice": "It did not finish within its time limit."},
  "workflow_failed": {"name": "Workflow failed", "title": "The workflow raised an exception", "advice": "The traceback shows where."},
  "workflow_invalid": {"name": "Invalid workflow result", "title": "The workflow returned an invalid result", "advice": "It must return nothing, or an output whose messages are valid JSON."},
  "workflow_timeout": {"name": "Workflow timed out", "title": "The workflow took too long", "advice": "It was stopped at its time limit; agent_workflow_timeout_s sets a higher one."},
  "environment_error": {"name": "Environment error", "title": "The environment crashed", "advice": "Its code raised an exception, or it returned an error."},
  "environment_timeout": {"name": "Environment timed out", "title": "The environment took too long", "advice": "It did not respond within --step-timeout."},
  "environment_unreachable": {"name": "Environment unreachable", "title": "The environment could not be reached", "advice": "Its process did not start, has ended, or the connection was lost."},
  "environment_invalid": {"name": "Invalid environment response", "title": "The environment returned an invalid response", "advice": "The response does not follow the protocol."},
  "sandbox_failed": {"name": "Sandbox failed", "title": "The sandbox failed", "advice": "A process could not be started in it."},
  "grader_error": {"name": "Grader error", "title": "The grader failed", "advice": "The episode was played but could not be scored: scoring raised an exception, or needs a judge that the run does not have."},
  "grader_timeout": {"name": "Grader timed out", "title": "The grader took too long", "advice": "It was stopped at its time limit; grader_timeout_s sets a higher one."},
  "skipped": {"name": "Skipped", "title": "The grader skipped the sample", "advice": "It is excluded from all counts on purpose."},
  "unverified": {"name": "Not verified", "title": "The score could not be verified", "advice": "The evaluator that checks the result is not available on this machine."},
  "program_failed": {"name": "Program failed", "title": "The benchmark's program failed", "advice": "It exited with an error, or left no result. Its output shows why."},
  "program_timeout": {"name": "Program timed out", "title": "The benchmark's program took too long", "advice": "It was stopped at its time limit, or printed nothing for too long."},
  "rollout_failed": {"name": "Rollout failed", "title": "The rollout's process failed", "advice": "It did not start, exited, or broke its protocol. Its output shows why; resuming the run tries again."},
  "proxy_failed": {"name": "Proxy failed", "title": "The proxy for the program's model calls failed", "advice": "Its endpoint could not be opened. Resuming the run tries again."},
  "value_missing": {"name": "Value missing", "title": "The value to score is missing", "advice": "The last info of the episode lacks the field that the metric reads."},
  "value_unusable": {"name": "Invalid value", "title": "The value to score is not a finite number", "advice": "The environment reported it, but the metric cannot use it."},
  "store_error": {"name": "Not stored", "title": "The results could not be stored", "advice": "Check the disk and the database."},
  "cancelled": {"name": "Cancelled", "title": "The episode was cancelled", "advice": "The run stopped before the episode ended. Resuming the run plays it again."},
  "internal_error": {"name": "Internal error", "title": "mesocosm itself failed", "advice": "This is a bug in mesocosm; please report it."},
  "not_run": {"name": "Not played", "title": "The episode was not played", "advice": "It was planned, but never played. Resuming the run plays it."},
  "agent_failure": {"name": "Agent failed", "title": "The agent failed", "advice": "The metric has no worst value that the failure could count as."},
} as const

export const BOUNDARIES = {
  "model": "Response of the model server",
  "agent": "Output of the agent",
  "environment": "Output of the environment",
  "grader": "Output of the grader",
  "sandbox": "Output of the sandbox",
  "store": "Error of the database",
  "proxy": "Error of the proxy",
  "engine": "Details",
} as const

export const RUN_STATES = {
  "pending": "Waiting to start",
  "running": "In progress",
  "finished": "Every planned episode was played",
  "completed": "Every planned episode was played",
  "partial": "Too many episodes have no value, so the run is not ranked. Resume it to play them again",
  "failed": "No episode could be scored, or the run aborted",
  "stopped": "Stopped before the end; can be resumed",
  "cancelled": "Cancelled before the end",
  "interrupted": "Its process exited unexpectedly; can be resumed",
} as const

export const EPISODE_STATES = {
  "pending": "Not started",
  "running": "In progress",
  "completed": "Played to the end",
  "truncated": "Reached the step limit",
  "timeout": "Reached the time limit",
  "failed": "Could not be played to the end",
  "cancelled": "Cancelled before the end",
} as const

export const EVENTS = {
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
} as const

export const AGGREGATIONS = {
  "mean": "mean of all {unit}s",
  "median": "median of all {unit}s",
  "max": "highest of all {unit}s",
  "min": "lowest of all {unit}s",
  "sum": "sum over all {unit}s",
  "pass_rate": "share of {unit}s that passed",
} as const

export const METHODS = {
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
} as const

export const SPACES = {
  "discrete": "one of a list",
  "continuous": "numbers",
  "text": "text",
  "json": "JSON",
  "image": "image",
  "multi_modal": "several kinds of content",
  "composite": "several parts",
} as const

export const REWARDS = {
  "scalar": "a number after every step",
  "vector": "several numbers after every step",
  "sparse": "a number after some steps, usually the last",
  "binary": "success or failure",
} as const

export const BUILD_STATES = {
  "queued": {"name": "Queue", "meaning": "Waiting for a worker"},
  "cloning": {"name": "Clone", "meaning": "Fetching the repository and pinning the commit"},
  "checking": {"name": "Check", "meaning": "Reading the manifest, checking its vow and scoring"},
  "installing": {"name": "Install", "meaning": "Installing the requirements in a virtual environment"},
  "testing": {"name": "Test", "meaning": "Starting the adapter and playing one step"},
  "ready": {"name": "Ready", "meaning": "Ready to run"},
  "failed": {"name": "Failed", "meaning": "The build failed"},
} as const

export const CHECKS = {
  "passed": {"name": "checked by its author", "meaning": "The author ran `mesocosm check` and it found no problems"},
  "failed": {"name": "check failed", "meaning": "The author ran `mesocosm check` and it found problems"},
  "outdated": {"name": "check outdated", "meaning": "The environment changed after the author ran `mesocosm check`"},
  "unchecked": {"name": "not checked", "meaning": "The author submitted no result of `mesocosm check`"},
} as const

export const RUN_FILTER_STATES = ["pending", "running", "finished", "partial", "failed", "stopped", "interrupted"] as const

export const RUN_SORT_KEYS = ["created_at", "name", "benchmark", "model", "agent", "state", "score", "cost", "tokens", "duration", "attempt", "id"] as const

export const EPISODE_SORT_KEYS = ["index", "score", "reward", "steps", "tokens", "cost", "duration", "started_at"] as const

export const EPISODE_OUTCOMES = ["pass", "fail", "scored", "worst", "missing", "skipped"] as const

export const WHOSE = ["mine", "team", "workspace", "public"] as const

export const PASSWORD_LENGTH = 8 as const
