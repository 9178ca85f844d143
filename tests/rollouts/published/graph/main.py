# mypy: ignore-errors
# ruff: noqa: ANN001, ANN201, ANN202
"""A graph of LangGraph whose model is a ChatOpenAI at the rollout's address."""

import os

import uvicorn
from langchain_core.messages import convert_to_openai_messages
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from osmosis_ai.rollout import (
    AgentWorkflow,
    AgentWorkflowContext,
    AgentWorkflowOutput,
    Grader,
    GraderContext,
    LocalBackend,
    get_rollout_context,
)
from osmosis_ai.rollout.server import create_rollout_server


@tool
def look_up(room: str) -> str:
    """Say whether a room is free."""
    return {"101": "free"}.get(room, "taken")


def build(model):
    graph = StateGraph(MessagesState)

    async def talk(state):
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph.add_node("talk", talk)
    graph.add_node("tools", ToolNode([look_up]))
    graph.add_edge(START, "talk")
    graph.add_conditional_edges("talk", tools_condition)
    graph.add_edge("tools", "talk")
    return graph.compile()


class Graph(AgentWorkflow):
    async def run(self, ctx: AgentWorkflowContext) -> AgentWorkflowOutput:
        rollout = get_rollout_context()
        model = ChatOpenAI(base_url=rollout.chat_completions_url, api_key=rollout.api_key, model="mine", temperature=0)
        state = await build(model.bind_tools([look_up])).ainvoke({"messages": ctx.prompt})
        messages = convert_to_openai_messages(state["messages"])
        return AgentWorkflowOutput(messages=messages, metrics={"steps": len(messages)})


class Said(Grader):
    async def grade(self, ctx: GraderContext) -> None:
        ctx.set_reward(ctx.label in ctx.sample.messages[-1]["content"])


backend = LocalBackend(workflow=Graph, grader=Said)
app = create_rollout_server(backend=backend)

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(os.environ.get("_OSMOSIS_ROLLOUT_PORT", "8000")))
