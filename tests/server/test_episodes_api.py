"""Lists of episodes, single episodes, their events, outlines and model calls."""

import base64
from typing import TYPE_CHECKING, Any

import pytest

from mesocosm.core.entry import Blob
from mesocosm.core.episode import EpisodeStatus
from mesocosm.core.event import Kind
from mesocosm.core.run import Counts
from mesocosm.core.score import Score
from mesocosm.server.runs import outline
from mesocosm.server.schemas.episode import CallDocument, EpisodeDetail, EpisodePage, EventPageDocument, StepPage
from mesocosm.store import Store
from mesocosm.testing.model_server import ModelServer

if TYPE_CHECKING:
    from tests.server.conftest import ApiClient, Records


def game(steps: int) -> list[tuple[int, Kind, Any]]:
    """Events of an episode with a message, a model call, an action and a result in each step."""
    events: list[tuple[int, Kind, Any]] = [(0, Kind.EPISODE_START, {"seed": 0}), (0, Kind.OBSERVATION, {"data": "go"})]
    for step in range(1, steps + 1):
        usage = {"prompt": 10, "completion": step}
        events += [
            (step, Kind.MESSAGE, {"index": step - 1, "role": "user", "content": f"turn {step}"}),
            (step, Kind.MODEL_CALL, {"model": "m", "messages": [[0, step - 1]], "text": "x", "usage": usage}),
            (step, Kind.ACTION, {"action": {"move": step}}),
            (step, Kind.STEP_RESULT, {"reward": 0.5}),
        ]
    return events


async def one_episode(store: Store, records: "Records", events: list[tuple[int, Kind, Any]], **given: Any) -> str:
    run = records.run()
    episode = records.episode(run, **given)
    await records.write(store, run, [episode], events)
    return episode.id


def test_episodes_are_listed_in_the_order_of_the_plan(client: "ApiClient", run_id: str) -> None:
    page = EpisodePage.model_validate_json(client.get(f"/api/runs/{run_id}/episodes").content)
    assert [item.index for item in page.items] == [0, 1]
    assert (page.total, page.total_exact, page.cursor) == (2, True, None)
    assert page.items[0].score == next(score.value for score in page.items[0].scores if score.name == "goal_rate")


@pytest.fixture
async def mixed(changing: Store, records: "Records") -> str:
    """A run of four episodes: scored 0.1 and 0.9, failed, cancelled."""
    run = records.run(counts=Counts(planned=4, completed=2, failed=1))
    episodes = [
        records.episode(run, index=0, scores=(Score("solved", 0.9),), steps=5),
        records.episode(run, index=1, scores=(Score("solved", 0.1),), steps=9, task_id="a/needle"),
        records.episode(run, index=2, scores=(Score("solved", worst=True),), status=EpisodeStatus.FAILED, steps=1),
        records.episode(run, index=3, scores=(), status=EpisodeStatus.CANCELLED, steps=0),
    ]
    await records.write(changing, run, episodes)
    return run.id


@pytest.mark.parametrize(
    ("query", "places"),
    [
        ({}, [0, 1, 2, 3]),
        ({"sort": "-index"}, [3, 2, 1, 0]),
        ({"sort": "score"}, [1, 0, 2, 3]),
        ({"sort": "-steps"}, [1, 0, 2, 3]),
        ({"outcome": "pass"}, [0, 1]),
        ({"outcome": "worst"}, [2]),
        ({"low": 0.5}, [0]),
        ({"high": 0.5}, [1]),
        ({"state": ["failed", "cancelled"]}, [2, 3]),
        ({"q": "NEEDLE"}, [1]),
        ({"at": 2, "limit": 1}, [2]),
        ({"at": 99}, []),
        ({"at": 2**80}, []),
    ],
)
async def test_episodes_are_sorted_and_filtered(
    writer: "ApiClient", mixed: str, query: dict[str, Any], places: list[int]
) -> None:
    page = writer.get(f"/api/runs/{mixed}/episodes", params=query).json()
    assert [item["index"] for item in page["items"]] == places
    if "at" not in query:
        assert page["total"] == len(places)


@pytest.mark.parametrize("query", [{"at": 1, "sort": "score"}, {"at": 1, "cursor": "x"}, {"at": 1, "q": "x"}])
def test_places_of_the_plan_are_those_of_the_whole_list(
    client: "ApiClient", run_id: str, query: dict[str, Any]
) -> None:
    answer = client.get(f"/api/runs/{run_id}/episodes", params=query)
    assert answer.status_code == 422
    assert answer.json()["problems"][0]["path"].startswith("query.")


async def test_neighbours_follow_the_filter_and_the_order(writer: "ApiClient", mixed: str) -> None:
    first, second, third, _last = (item["id"] for item in writer.get(f"/api/runs/{mixed}/episodes").json()["items"])
    path = f"/api/episodes/{second}/neighbours"
    assert writer.get(path).json() == {"previous": first, "next": third}
    assert writer.get(path, params={"sort": "score", "outcome": "scored"}).json() == {"previous": None, "next": first}


def test_an_episode_is_told_with_its_run(client: "ApiClient", episode_id: str, run_id: str) -> None:
    detail = EpisodeDetail.model_validate_json(client.get(f"/api/episodes/{episode_id}").content)
    assert detail.run.id == detail.run_id == run_id
    assert detail.seed == "0"
    assert detail.failure is None


def test_all_events_are_read_page_by_page(client: "ApiClient", episode_id: str) -> None:
    seen = []
    following: int | None = 0
    while following is not None:
        answer = client.get(f"/api/episodes/{episode_id}/events", params={"from": following, "limit": 50})
        page = EventPageDocument.model_validate_json(answer.content)
        seen += [event.seq for event in page.items]
        following = page.next
    assert seen == list(range(page.total))


def test_events_begin_at_a_step(client: "ApiClient", episode_id: str) -> None:
    first = client.get(f"/api/episodes/{episode_id}/events", params={"step": 2, "limit": 1}).json()["items"][0]
    assert first["step"] == 2
    before = client.get(f"/api/episodes/{episode_id}/events", params={"from": first["seq"] - 1, "limit": 1}).json()
    assert before["items"][0]["step"] == 1
    assert client.get(f"/api/episodes/{episode_id}/events", params={"step": 9_999}).json()["items"] == []


def test_events_are_filtered_by_kind_and_text(client: "ApiClient", episode_id: str) -> None:
    path = f"/api/episodes/{episode_id}/events"
    kinds = client.get(path, params={"kind": ["action", "episode_end"], "limit": 1_000}).json()["items"]
    assert {event["kind"] for event in kinds} == {"action", "episode_end"}
    assert client.get(path, params={"q": "KEY", "limit": 1}).json()["items"]
    assert client.get(path, params={"q": "no such words"}).json()["items"] == []
    refused = client.get(path, params={"kind": "nonsense"})
    assert refused.status_code == 400
    assert "episode_start" in refused.json()["detail"]


async def test_an_event_without_payload_says_so(writer: "ApiClient", changing: Store, records: "Records") -> None:
    episode_id = await one_episode(changing, records, [(0, Kind.LOG, None)])
    (event,) = writer.get(f"/api/episodes/{episode_id}/events").json()["items"]
    assert event == {"seq": 0, "step": 0, "at": 0.5, "kind": "log", "payload": None}


async def test_the_outline_sums_up_each_step(writer: "ApiClient", changing: Store, records: "Records") -> None:
    events = [*game(5), (5, Kind.WARNING, {}), (5, Kind.ERROR, {}), (5, Kind.RETRY, {})]
    episode_id = await one_episode(changing, records, events, steps=5)
    page = StepPage.model_validate_json(writer.get(f"/api/episodes/{episode_id}/steps?from=1&limit=2").content)
    assert [item.step for item in page.items] == [1, 2]
    assert page.items[1].action == '{"move": 2}'
    assert (page.items[1].reward, page.items[1].tokens, page.items[1].first_event) == (0.5, 12, 6)
    assert (page.next, page.last) == (3, 5)
    last = writer.get(f"/api/episodes/{episode_id}/steps?from=5").json()
    assert (last["items"][0]["errors"], last["items"][0]["warnings"], last["items"][0]["retries"]) == (1, 1, 1)
    assert last["next"] is None
    assert writer.get(f"/api/episodes/{episode_id}/steps?from=6").json()["items"] == []


async def test_a_step_of_very_many_events_does_not_hide_the_next_one(
    writer: "ApiClient", changing: Store, records: "Records", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outline, "MOST_EVENTS", 10)
    events: list[tuple[int, Kind, Any]] = [(0, Kind.LOG, {}), *[(1, Kind.LOG, {})] * 30, (2, Kind.LOG, {})]
    episode_id = await one_episode(changing, records, events, steps=2)
    seen = []
    following: int | None = 0
    while following is not None:
        page = writer.get(f"/api/episodes/{episode_id}/steps", params={"from": following}).json()
        seen += [(item["step"], item["events"]) for item in page["items"]]
        following = page["next"]
    assert seen == [(0, 1), (1, 30), (2, 1)]


async def test_a_model_call_comes_with_everything_that_was_sent(
    writer: "ApiClient", changing: Store, records: "Records"
) -> None:
    events = [
        (0, Kind.MESSAGE, {"index": 0, "role": "user", "content": "hello"}),
        (0, Kind.MESSAGE, {"index": 1, "role": "user", "content": {"$blob": "d", "bytes": 9}}),
        (1, Kind.MESSAGE, {"index": 2, "role": "system", "content": "be brief"}),
        (1, Kind.MODEL_CALL, {"model": "m", "messages": [[2, 2], [0, 1]], "text": "hi", "reasoning": "greet"}),
    ]
    episode_id = await one_episode(changing, records, events)
    call = CallDocument.model_validate_json(writer.get(f"/api/episodes/{episode_id}/calls/3").content)
    assert [message["content"] for message in call.messages] == ["be brief", "hello", {"$blob": "d", "bytes": 9}]
    assert call.reply == {"role": "assistant", "content": "hi", "reasoning": "greet"}
    assert (call.seq, call.step, call.model) == (3, 1, "m")


async def test_a_long_conversation_is_resolved_whole(writer: "ApiClient", changing: Store, records: "Records") -> None:
    episode_id = await one_episode(changing, records, game(300))
    call = writer.get(f"/api/episodes/{episode_id}/calls/{2 + 4 * 299 + 1}").json()
    assert [message["content"] for message in call["messages"]] == [f"turn {n}" for n in range(1, 301)]


@pytest.mark.parametrize("seq", ["0", "99999", "-1", str(2**70)])
def test_what_is_no_model_call_is_unknown(client: "ApiClient", episode_id: str, seq: str) -> None:
    assert client.get(f"/api/episodes/{episode_id}/calls/{seq}").status_code == 404


@pytest.mark.parametrize("messages", [None, 5, [[0]], [["a", "b"]], [[0, 10**18]], [[5, 1]]])
async def test_a_call_with_odd_references_is_shown_without_them(
    writer: "ApiClient", changing: Store, records: "Records", messages: Any
) -> None:
    events = [(0, Kind.MODEL_CALL, {"model": "m", "messages": messages, "text": "x"})]
    episode_id = await one_episode(changing, records, events)
    assert writer.get(f"/api/episodes/{episode_id}/calls/0").json()["messages"] == []


PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.fixture
async def digests(changing: Store, records: "Records") -> dict[str, str]:
    """Blobs of many kinds, by a word for each."""
    blobs = {
        "text": Blob("a" * 32, "text/plain", "aé€😀z".encode()),
        "html": Blob("b" * 32, "text/html", b"<script>alert(1)</script>"),
        "svg": Blob("c" * 32, "image/svg+xml", b"<svg onload='alert(1)'/>"),
        "png": Blob("d" * 32, "image/png", PNG),
        "message": Blob("e" * 32, "image/png", base64.b64encode(PNG)),
        "fake": Blob("f" * 32, "image/png", b"<script>alert(1)</script>"),
        "other": Blob("0" * 32, "application/x-thing\r\nX-Evil: 1", b"\xff\x00"),
        "json": Blob("1" * 32, "application/json", b'{"a": 1}'),
    }
    run = records.run()
    await records.write(changing, run, [records.episode(run)], [], list(blobs.values()))
    return {name: blob.digest for name, blob in blobs.items()}


@pytest.mark.parametrize(
    ("name", "sent", "stored"),
    [
        ("text", "text/plain; charset=utf-8", "text/plain"),
        ("html", "text/plain; charset=utf-8", "text/html"),
        ("svg", "text/plain; charset=utf-8", "image/svg+xml"),
        ("json", "text/plain; charset=utf-8", "application/json"),
        ("png", "image/png", "image/png"),
        ("message", "image/png", "image/png"),
        ("fake", "application/octet-stream", "image/png"),
        ("other", "application/octet-stream", "application/x-thing"),
    ],
)
async def test_content_is_never_sent_as_something_that_runs(
    writer: "ApiClient", digests: dict[str, str], name: str, sent: str, stored: str
) -> None:
    answer = writer.get(f"/api/blobs/{digests[name]}")
    assert answer.headers["content-type"] == sent
    assert answer.headers["x-mesocosm-type"] == stored
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"] == "sandbox; default-src 'none'"
    assert "immutable" in answer.headers["cache-control"]
    assert "x-evil" not in answer.headers
    if name == "message":
        assert answer.content == PNG


async def test_content_is_read_in_windows_that_cut_no_character(writer: "ApiClient", digests: dict[str, str]) -> None:
    pieces, place = [], "0"
    while place:
        answer = writer.get(f"/api/blobs/{digests['text']}", params={"from": place, "bytes": 2})
        pieces.append(answer.content.decode())
        assert answer.headers["x-mesocosm-total"] == "11"
        place = answer.headers.get("x-mesocosm-next", "")
    assert "".join(pieces) == "aé€😀z"


async def test_a_window_in_the_middle_of_a_character_begins_with_it(
    writer: "ApiClient", digests: dict[str, str]
) -> None:
    answer = writer.get(f"/api/blobs/{digests['text']}", params={"from": 2, "bytes": 5})
    assert answer.content.decode() == "é€"
    assert answer.headers["x-mesocosm-from"] == "1"


@pytest.mark.parametrize(
    ("given", "status", "body", "place"),
    [
        ("bytes=0-0", 206, b"a", "bytes 0-0/11"),
        ("bytes=10-", 206, b"z", "bytes 10-10/11"),
        ("bytes=-1", 206, b"z", "bytes 10-10/11"),
        ("bytes=5-900", 206, None, "bytes 5-10/11"),
        ("bytes=11-", 416, None, "bytes */11"),
        ("bytes=0-1,3-4", 200, None, None),
        ("lines=1-2", 200, None, None),
        ("bytes=-", 200, None, None),
    ],
)
async def test_ranges_are_served(
    writer: "ApiClient", digests: dict[str, str], given: str, status: int, body: bytes | None, place: str | None
) -> None:
    answer = writer.get(f"/api/blobs/{digests['text']}", headers={"Range": given})
    assert answer.status_code == status
    assert answer.headers.get("content-range") == place
    if body is not None:
        assert answer.content == body


async def test_content_is_downloaded_under_a_name(writer: "ApiClient", digests: dict[str, str]) -> None:
    answer = writer.get(f"/api/blobs/{digests['html']}", params={"download": 'ü"\r\nx: y.html'})
    assert answer.headers["content-disposition"] == "attachment; filename*=UTF-8''%C3%BC%22%0D%0Ax%3A%20y.html"


def test_unknown_content_is_404(client: "ApiClient") -> None:
    assert client.get("/api/blobs/none").status_code == 404


@pytest.fixture
async def answered(changing: Store, records: "Records") -> list[str]:
    """Two runs of the same three tasks; what they answered and why it is wrong."""
    ids = []
    for model, wrong in (("m1", (0, 1)), ("m2", (1,))):
        run = records.run(model=model, counts=Counts(planned=3, completed=3))
        episodes = [
            records.episode(
                run,
                index=index,
                task_digest=f"{index}" * 32,
                scores=(Score("solved", 0.0 if index in wrong else 1.0),),
                input={"question": f"{index} + 1?"},
                target=str(index + 1),
                answer=f"{model} says",
                why=f"it says {model}" if index in wrong else "",
                mistake=f"kind {index}" if index in wrong else "",
            )
            for index in range(3)
        ]
        await records.write(changing, run, episodes)
        ids.append(run.id)
    return ids


def test_a_row_says_question_expected_given_verdict_and_why(writer: "ApiClient", answered: list[str]) -> None:
    first, _, last = writer.get(f"/api/runs/{answered[0]}/episodes").json()["items"]
    told = [first[name] for name in ("question", "expected", "given", "verdict", "why", "mistake")]
    assert told == ["0 + 1?", "1", "m1 says", "not_passed", "it says m1", "kind 0"]
    assert [last[name] for name in ("verdict", "why")] == ["passed", ""]


def test_an_episode_has_them_whole(writer: "ApiClient", answered: list[str]) -> None:
    (item, *_) = writer.get(f"/api/runs/{answered[0]}/episodes").json()["items"]
    found = writer.get(f"/api/episodes/{item['id']}").json()
    asked = [found[name] for name in ("input", "target", "reference", "answer")]
    assert asked == [{"question": "0 + 1?"}, "1", None, "m1 says"]


def test_wrong_answers_are_counted_beside_another_run(writer: "ApiClient", answered: list[str]) -> None:
    one, other = answered
    found = writer.get(f"/api/runs/{one}/wrong-answers", params={"against": other}).json()
    assert (found["wrong"], found["other_wrong"], found["more"]) == (2, 1, 0)
    kinds = {kind["value"]: kind for kind in found["kinds"]}
    assert [(name, kind["count"], kind["other"]) for name, kind in kinds.items()] == [
        ("kind 0", 1, 0),
        ("kind 1", 1, 1),
    ]
    # Miettinen and Nurminen's interval of 1/2 - 1/1.
    assert {name: round(kinds["kind 1"]["difference"][name], 3) for name in ("value", "low", "high")} == {
        "value": -0.5,
        "low": -0.931,
        "high": 0.642,
    }


def test_an_unknown_field_of_wrong_answers_is_refused_with_the_known_ones(
    writer: "ApiClient", answered: list[str]
) -> None:
    refused = writer.get(f"/api/runs/{answered[0]}/wrong-answers", params={"by": "colour"})
    assert refused.status_code == 400
    assert "mistake, behaviour" in refused.json()["detail"]


def test_episodes_are_filtered_by_their_mistake(writer: "ApiClient", answered: list[str]) -> None:
    found = writer.get(f"/api/runs/{answered[0]}/episodes", params={"mistake": "kind 1"}).json()
    assert [item["index"] for item in found["items"]] == [1]
    assert found["total"] == 1


def test_a_task_is_told_in_all_runs(writer: "ApiClient", answered: list[str]) -> None:
    (item, *_) = writer.get(f"/api/runs/{answered[0]}/episodes").json()["items"]
    found = writer.get(f"/api/episodes/{item['id']}/attempts").json()
    assert {(one["model"], one["verdict"]) for one in found["items"]} == {("m1", "not_passed"), ("m2", "passed")}
    assert (found["passed"], found["judged"], found["whole"]) == (1, 2, True)


def test_a_task_over_all_runs_says_who_solves_it(writer: "ApiClient", answered: list[str]) -> None:
    (item, *_) = writer.get(f"/api/runs/{answered[0]}/episodes").json()["items"]
    run = writer.get(f"/api/runs/{answered[0]}").json()
    found = writer.get(f"/api/benchmarks/{run['benchmark']}/tasks/{item['task_digest']}").json()
    assert {(one["model"], one["passed"], one["judged"]) for one in found["tried"]} == {("m1", 0, 1), ("m2", 1, 1)}
    assert (found["standing"], found["models"], found["solved"]) == ("varies", 2, 1)
    assert {one["episode_id"] for one in found["items"]} >= {item["id"]}


def test_an_unknown_task_is_told_apart_from_one_that_nobody_tried(writer: "ApiClient", answered: list[str]) -> None:
    refused = writer.get("/api/benchmarks/words/tasks/none")
    assert refused.status_code == 404
    assert "leads to its task" in refused.json()["detail"]


async def test_two_episodes_of_a_task_are_aligned(writer: "ApiClient", changing: Store, records: "Records") -> None:
    one = await one_episode(changing, records, game(3))
    other = await one_episode(changing, records, [event for event in game(4) if event[0] != 2])
    found = writer.get(f"/api/episodes/{one}/against/{other}").json()
    assert (found["finding"], found["first"], found["by"]) == ("action", 2, "step")
    assert [(step["a"] and step["a"]["step"], step["b"] and step["b"]["step"]) for step in found["steps"]] == [
        (0, 0),
        (1, 1),
        (2, None),
        (3, 3),
        (None, 4),
    ]
    assert (found["a"]["steps"], found["b"]["episode_id"]) == (3, other)


async def test_an_episode_is_not_compared_with_itself_or_with_one_of_another_task(
    writer: "ApiClient", changing: Store, records: "Records"
) -> None:
    one = await one_episode(changing, records, game(1))
    other = await one_episode(changing, records, game(1), task_id="seed-9", task_digest="f" * 32)
    assert writer.get(f"/api/episodes/{one}/against/{one}").status_code == 400
    assert writer.get(f"/api/episodes/{one}/against/nothing").status_code == 404
    found = writer.get(f"/api/episodes/{one}/against/{other}").json()
    assert (found["finding"], found["steps"], found["first"]) == ("other_task", [], None)


async def test_a_call_is_told_as_it_was_sent_also_where_its_body_is_that_of_an_earlier_one(
    writer: "ApiClient", changing: Store, records: "Records"
) -> None:
    body = {"model": "m", "temperature": 0.5, "tools": [{"type": "function", "function": {"name": "look"}}]}
    first = {"path": "/chat/completions", "body": body, "answer": '{"id": "one"}'}
    episode = await one_episode(
        changing,
        records,
        [
            (1, Kind.MESSAGE, {"index": 0, "role": "user", "content": "go"}),
            (1, Kind.MODEL_CALL, {"model": "m", "messages": [[0, 0]], "text": "x", "wire": first}),
            (2, Kind.MESSAGE, {"index": 1, "role": "user", "content": "on"}),
            (2, Kind.MODEL_CALL, {"model": "m", "messages": [[0, 1]], "text": "y", "wire": {"as": 1, "answer": "{}"}}),
            (3, Kind.MODEL_CALL, {"model": "m", "messages": [[0, 1]], "text": "z"}),
        ],
    )
    said = [{"role": "user", "content": "go"}, {"role": "user", "content": "on"}]
    calls = [writer.get(f"/api/episodes/{episode}/calls/{seq}").json() for seq in (1, 3, 4)]
    assert [call["previous"] for call in calls] == [None, 1, 3]
    one, two, old = (call["wire"] for call in calls)
    assert one["body"] == {**body, "messages": said[:1]}
    assert one["answer"] == '{"id": "one"}'
    assert two["body"] == {**body, "messages": said}
    assert '"name": "look"' in two["curl"]
    assert old is None


async def test_a_call_is_asked_again_on_this_machine_and_nothing_is_stored(
    writer: "ApiClient", changing: Store, records: "Records"
) -> None:
    episode = await one_episode(
        changing,
        records,
        [
            (1, Kind.MESSAGE, {"index": 0, "role": "user", "content": "go"}),
            (1, Kind.MODEL_CALL, {"model": "m", "messages": [[0, 0]], "text": "x"}),
        ],
    )
    before = writer.get(f"/api/episodes/{episode}").json()
    with ModelServer(lambda body: body["messages"][-1]["content"]) as server:
        model = f"openai/m@{server.openai_url}"
        address = f"/api/episodes/{episode}/calls/1/again"
        found = writer.request("POST", address, json={"model": model, "prompt": "stay"})
        elsewhere = writer.request("POST", address, json={"model": "openai/m@http://192.0.2.7/v1"})
        file = writer.request("POST", address, json={"model": "replay//etc/passwd"})
        served = server.served
    gone = writer.request("POST", f"/api/episodes/{episode}/calls/1/again", json={"model": model})

    assert writer.get(f"/api/episodes/{episode}/calls/1").json()["again"] is True
    assert (found.status_code, found.json()["reply"]["content"]) == (200, "stay")
    assert (elsewhere.status_code, file.status_code, served) == (403, 403, 1)
    assert gone.status_code == 409
    assert writer.get(f"/api/episodes/{episode}").json() == before


async def test_an_episode_names_the_view_of_its_benchmark_and_nothing_that_is_none(
    writer: "ApiClient", changing: Store, records: "Records"
) -> None:
    named = {}
    for view in ("board", "javascript"):
        run = records.run(info={"view": view})
        episode = records.episode(run)
        await records.write(changing, run, [episode])
        found = EpisodeDetail.model_validate_json(writer.get(f"/api/episodes/{episode.id}").content)
        named[view] = found.view
    assert named == {"board": "board", "javascript": None}
