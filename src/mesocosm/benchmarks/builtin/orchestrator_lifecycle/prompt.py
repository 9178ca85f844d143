"""The system prompt, and the agent's only tool."""

from mesocosm.benchmarks.builtin.orchestrator_lifecycle.registry import AGENTS, MOST_TEXT
from mesocosm.core.model import Tool

TOOL = "TASKS"
SYSTEM = """\
You direct sub-agents on behalf of a user. Every piece of work is a task in a registry, and the tool TASKS is the only \
way to see or change it. The user speaks of tasks by their titles; their ids, states, progress and results stand in \
the registry and nowhere else.

How to work:
- Do what the user asks, on the task that is meant, and nothing beyond that: starting, telling, pausing, resuming, \
cancelling, reopening or sharing what nobody asked for is a mistake. Looking things up is always allowed.
- Keep the order in which the user wants things done.
- When something is missing without which a task cannot be started properly, ask for it first and start nothing.
- When you pass on an instruction, pass on everything that the user said about it.
- Look things up before you report them. When you have done something, say on which task, by title or id.
- When the user wants something left out of a report, leave it out.

End each turn with a reply to the user and no further tool call."""


def tool() -> Tool:
    """Return the tool's definition."""
    text = {"type": "string", "maxLength": MOST_TEXT}
    agents = "; ".join(f"{name} ({what})" for name, what in AGENTS.items())
    actions = {
        "create": "start a task with a new sub-agent: task (what to do, in full), agentType",
        "spawn_agent": "the same as create",
        "send": "tell the sub-agent of a running task something: taskId or sessionId, input",
        "stop_agent": "end a sub-agent, which cancels its task: sessionId or taskId",
        "list_agents": "sub-agents with task, status and progress; all=true shows those that are over too",
        "cancel": "cancel a task for good: taskId, reason; all=true without taskId cancels every open task",
        "history": "everything about one task (taskId), or about the tasks whose title holds the words of search",
        "control": "taskId, controlAction: pause, resume, continue, stop, reopen; instruction goes to the sub-agent",
        "share": "hand the result of a done task to those who wait for it: taskId, note",
        "reopen": "take up a done, failed or cancelled task again: taskId, instruction",
    }
    properties = {
        "action": {"type": "string", "enum": list(actions)},
        "task": {**text, "description": "what a new task is about, in full"},
        "agentType": {"type": "string", "enum": list(AGENTS), "description": agents},
        "taskId": {"type": "string", "description": "id of a task, such as T-100"},
        "sessionId": {"type": "string", "description": "id of a sub-agent's session, in the place of taskId"},
        "threadId": {"type": "string", "description": "has no effect: there is one conversation"},
        "input": {**text, "description": "what a sub-agent is told"},
        "controlAction": {"type": "string", "enum": ["pause", "resume", "continue", "stop", "reopen"]},
        "instruction": {**text, "description": "what a sub-agent is told when its task goes on"},
        "search": {"type": "string", "description": "words of a title"},
        "all": {"type": "boolean"},
        "reason": text,
        "note": text,
    }
    described = "See and change the registry of tasks.\n" + "\n".join(
        f"- {name}: {what}" for name, what in actions.items()
    )
    return Tool(TOOL, described, {"type": "object", "properties": properties, "required": ["action"]})
