"""Prompts of both planes that do not depend on the benchmark."""

from mesocosm.benchmarks.orchestrated.tool import tool

DELEGATE = tool(
    "delegate",
    "Give work to a new worker and wait for its report. It has the tools for the work, and knows nothing but what you "
    "tell it here.",
    {"instructions": "everything that the worker must know: what to do, what to report, and in which form"},
)

ORCHESTRATOR = (
    "You direct workers. You cannot do the work yourself: you only have the tools delegate and {finish}. Workers see "
    "neither the task nor each other, so tell each of them all that it needs. Check what they report, and delegate "
    "again where something is missing. When the task is done, call {finish} alone."
)
DIRECT = "When you are done, call {finish}."
WORKER = "When you are done, reply with your report in words, without calling a tool."
GO_ON = "That was neither a tool call nor the end. Call a tool, or end as you were told."
REPORT = "Your reply was empty. Call a tool, or reply with your report."
ALONE = "Error: {finish} must be called alone, after the reports of all workers."
LATE = "{worker} did not report before its steps were used up."
SILENT = "{worker} ended without a report."
REPORTED = "Report of {worker}:\n{report}"
CROWDED = "Error: too many calls at once; this one was not made."
