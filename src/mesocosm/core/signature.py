"""The signature of a run: equal if and only if two runs are the same experiment."""

from typing import Any

from mesocosm.core.failure import UsageError
from mesocosm.core.ids import digest
from mesocosm.core.run import AgentSettings, RunSpec


def signature(
    spec: RunSpec, benchmark_id: str, benchmark_digest: str, model_content: str = "", agent_content: str = ""
) -> str:
    """Return the digest of everything that can change the outcome of a run.

    `model_content` is `content` of the model's Capabilities, `agent_content` the digest of the agent's file. Each
    replaces a path, so that a moved file is the same experiment and a changed file is another one.
    Covered: benchmark and its content, agent with options, model with settings, tasks and trials, the limits that end
    an episode. Not covered: concurrency, run budgets, timeouts of calls, paths, names, tags.
    Raise UsageError for a setting that JSON cannot express, such as NaN.
    """
    limits = spec.limits
    covered = {
        "benchmark": benchmark_id,
        "content": benchmark_digest,
        "agent": _agent(spec.agent, agent_content),
        "model": spec.model.identity(model_content),
        "seeds": spec.selection.seeds,
        "count": spec.selection.count if spec.selection.seeds is None else None,
        "trials": spec.selection.trials,
        "limits": [limits.episode_steps, limits.episode_seconds, limits.episode_tokens],
    }
    if spec.judge is not None:
        # Left out otherwise, so that runs from before judges existed can still be resumed.
        covered["judge"] = spec.judge.identity()
    try:
        return digest(covered)
    except (TypeError, ValueError) as error:
        raise UsageError(f"a setting of the agent or the model cannot be used: {error}") from error


def _agent(settings: AgentSettings, content: str) -> dict[str, Any]:
    name = f"{content}:{settings.name.rpartition(':')[2]}" if content else settings.name
    # An empty label is left out, so that runs from before labels existed can still be resumed.
    covered: dict[str, Any] = {"name": name, "options": settings.options}
    if order := _role_order(settings.options):
        covered["role_order"] = order
    return {**covered, "label": settings.label} if settings.label else covered


def _role_order(options: dict[str, Any]) -> list[list[str]]:
    """Return each order of roles that is not alphabetical: the order decides who acts, and digests sort keys."""
    techniques = options.get("techniques")
    places = [options, *(techniques.values() if isinstance(techniques, dict) else ())]
    roles = [place.get("roles") for place in places if isinstance(place, dict)]
    return [list(given) for given in roles if isinstance(given, dict) and list(given) != sorted(given)]
