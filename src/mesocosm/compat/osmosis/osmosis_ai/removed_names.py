"""Names of osmosis-ai before 0.2.18, whose API was different."""

from collections.abc import Mapping

GONE: Mapping[str, str] = {
    **dict.fromkeys(
        ("osmosis_reward", "osmosis_rubric"),
        "write a Grader whose grade(ctx) calls the function with ctx.sample.messages[-1]['content'] and ctx.label and "
        "gives the result to ctx.set_reward, and an AgentWorkflow that makes the sample",
    ),
    **dict.fromkeys(
        ("RolloutAgentLoop", "RolloutContext", "RolloutRequest", "RolloutResult", "OsmosisLLMClient", "create_app"),
        "write an AgentWorkflow whose run(ctx) has the loop, asks the model at get_rollout_context()."
        "chat_completions_url, and returns the messages; a LocalBackend with create_rollout_server is its server",
    ),
}
"""Names of versions before 0.2.18, each with what to write today."""


def refuse(name: str) -> None:
    """Raise ImportError with what to write today, if `name` belongs to versions that are not supported."""
    if name in GONE:
        raise ImportError(f"{name} is of osmosis-ai before 0.2.18, which nothing stands in for here: {GONE[name]}")
