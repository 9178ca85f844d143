"""The judge: what it is asked, what it answers, and how it fails."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from mesocosm.rollouts.sdk.judge import Judge, JudgeError


class Server(ThreadingHTTPServer):
    """Takes as many connections at once as a test makes."""

    request_queue_size = 64


class Model:
    """A model server that answers what it is told to, and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, Any]]] = []
        self.status = 200
        self.reply: Any = {"choices": [{"message": {"content": "good"}, "finish_reason": "stop"}]}
        self.together: threading.Barrier | None = None
        model = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                model.asked.append((self.path, self.headers["Authorization"], body))
                if model.together is not None:
                    model.together.wait(20)
                reply = model.reply if isinstance(model.reply, bytes) else json.dumps(model.reply).encode()
                self.send_response(model.status)
                self.send_header("Content-Length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                del format, args

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"


@pytest.fixture
def model() -> Iterator[Model]:
    served = Model()
    thread = threading.Thread(target=served.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield served
    served.server.shutdown()
    served.server.server_close()
    thread.join()


async def test_a_prompt_becomes_a_message_of_the_user(model: Model) -> None:
    assert await Judge(model.url + "/", "key", "m").ask("Is it right?") == "good"
    path, key, body = model.asked[0]
    assert (path, key) == ("/v1/chat/completions", "Bearer key")
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Is it right?"}],
        "temperature": 0.0,
        "max_tokens": 1024,
    }


async def test_messages_schema_and_settings_are_sent_as_given(model: Model) -> None:
    schema = {"type": "object"}
    messages = [{"role": "system", "content": "Be fair."}, {"role": "user", "content": "Is it right?"}]
    await Judge(model.url, "key", "m").ask(messages, schema=schema, temperature=None, max_tokens=None)
    _, _, body = model.asked[0]
    assert body["messages"] == messages
    assert body["response_format"]["json_schema"]["schema"] == schema
    assert not {"temperature", "max_tokens"} & set(body)


async def test_a_refusal_has_its_status_and_words(model: Model) -> None:
    model.status, model.reply = 429, {"error": "slow down"}
    with pytest.raises(JudgeError, match=r"'m' answered 429: .*slow down") as raised:
        await Judge(model.url, "key", "m").ask("?")
    assert raised.value.status == 429


@pytest.mark.parametrize("reply", [b"not json", {"choices": []}, {"choices": [{}]}, []])
async def test_what_is_no_completion_is_an_error(model: Model, reply: Any) -> None:
    model.reply = reply
    with pytest.raises(JudgeError, match="not a chat completion") as raised:
        await Judge(model.url, "key", "m").ask("?")
    assert raised.value.status is None


async def test_an_answer_without_text_is_an_error_that_tells_its_reason(model: Model) -> None:
    model.reply = {"choices": [{"message": {"content": None}, "finish_reason": "length"}]}
    with pytest.raises(JudgeError, match="finish reason: length"):
        await Judge(model.url, "key", "m").ask("?")


async def test_a_judge_that_is_not_there_is_an_error(model: Model) -> None:
    model.server.server_close()
    with pytest.raises(JudgeError, match="cannot be reached"):
        await Judge(model.url, "key", "m").ask("?")


async def test_an_address_that_is_none_is_refused() -> None:
    with pytest.raises(JudgeError, match="cannot be reached: not an http"):
        await Judge("file:///somewhere", "key", "m").ask("?")


async def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(
    model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert await Judge(model.url, "key", "m").ask("?") == "good"


async def test_many_ask_at_once(model: Model) -> None:
    model.together = threading.Barrier(20)
    judge = Judge(model.url, "key", "m")
    assert set(await asyncio.gather(*(judge.ask(str(number)) for number in range(20)))) == {"good"}


async def test_clients_of_the_openai_package_ask_the_judge(model: Model) -> None:
    judge = Judge(model.url, "key", "m")
    for client in (judge.openai(), judge.sync_openai()):
        assert (str(client.base_url), client.api_key) == (model.url + "/", "key")
    reply = await judge.openai().chat.completions.create(model="m", messages=[{"role": "user", "content": "?"}])
    assert reply.choices[0].message.content == "good"


def test_the_key_is_not_shown() -> None:
    assert "secret" not in repr(Judge("http://judge/v1", "secret", "m"))
