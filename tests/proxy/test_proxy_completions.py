"""Chat completions of the official client, passed on and asked through the engine."""

from collections.abc import Callable
from typing import Any

import openai

from mesocosm.testing.dialect import Answer
from mesocosm.testing.model_server import ModelServer

Client = Callable[[Any], openai.OpenAI]
QUESTION: Any = [{"role": "user", "content": "what is 2+2?"}]


async def test_a_call_is_passed_on_and_recorded(lab: Any, openai_client: Client) -> None:
    def program(variables: Any) -> Any:
        answer = openai_client(variables).chat.completions.create(model="m", messages=QUESTION, temperature=0.7)
        return answer.choices[0].message.content

    async with ModelServer(Answer("four", prompt_tokens=11, completion_tokens=3)) as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}")
    assert episode.terminal_info["output"] == "four"
    (call,) = lab.calls(episode)
    assert call["text"] == "four"
    assert call["path"] == "/chat/completions"
    assert call["request"]["temperature"] == 0.7
    assert call["messages"] == [[0, 0]]
    assert lab.said(episode) == [("user", "what is 2+2?")]
    assert (episode.usage.prompt, episode.usage.completion, episode.usage.calls) == (11, 3, 1)
    assert episode.usage.cost_usd == 0.0


async def test_a_builtin_model_answers_in_the_words_of_the_api(lab: Any, openai_client: Client) -> None:
    def program(variables: Any) -> Any:
        answer = openai_client(variables).chat.completions.create(model="oracle", messages=QUESTION)
        return answer.model_dump()

    (episode,) = await lab.play(program, "builtin/oracle")
    answer = episode.terminal_info["output"]
    assert "best" in answer["choices"][0]["message"]["content"]
    assert answer["choices"][0]["finish_reason"] == "stop"
    (call,) = lab.calls(episode)
    assert call["path"] == "/chat/completions"
    assert "best" in call["text"]


async def test_a_process_finds_its_model_by_its_variables_alone(lab: Any) -> None:
    program = """
import openai
client = openai.OpenAI()
answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "hi"}])
print(answer.choices[0].message.content)
"""
    async with ModelServer("hello") as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}")
    assert episode.terminal_info["output"] == "hello\n"
    assert [call["text"] for call in lab.calls(episode)] == ["hello"]


async def test_a_stream_is_passed_on_and_recorded(lab: Any, openai_client: Client) -> None:
    def program(variables: Any) -> Any:
        stream = openai_client(variables).chat.completions.create(model="m", messages=QUESTION, stream=True)
        return [chunk.model_dump() for chunk in stream]

    async with ModelServer(Answer("four and more", prompt_tokens=11, completion_tokens=3)) as server:
        (episode,) = await lab.play(program, f"vllm/m@{server.openai_url}")
    chunks = episode.terminal_info["output"]
    assert "".join(c["choices"][0]["delta"]["content"] or "" for c in chunks) == "four and more"
    assert all(chunk["choices"] for chunk in chunks)
    (call,) = lab.calls(episode)
    assert call["text"] == "four and more"
    assert call["streamed"]
    assert (episode.usage.prompt, episode.usage.completion) == (11, 3)
