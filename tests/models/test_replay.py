"""`replay/FILE` finds the completion that was recorded for a task."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.failure import Cause, EpisodeError, InvalidInput, UsageError
from mesocosm.core.message import Message
from mesocosm.core.model import EpisodeView, ModelReply, ModelRequest
from mesocosm.core.ports import Model

Opened = Callable[..., Model]

LONG = "Janet’s ducks lay 16 eggs per day. How many does she sell?"
OTHER = "Janet’s ducks lay 16 eggs per week. How many does she eat?"


def lines(*values: object) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def replay(opened: Opened, folder: Path, text: str, name: str = "r.jsonl") -> Model:
    (folder / name).write_text(text, encoding="utf-8")
    return opened(f"replay/{folder / name}")


def asked(
    seed: int | None = None,
    prompt: str = "",
    trial: int = 0,
    step: int = 0,
    task: str = "",
    shown: Any = None,
    row: int | None = None,
) -> ModelRequest:
    view = EpisodeView(seed, task, trial, step, input=shown, row=row)
    return ModelRequest([Message("system", "Solve it."), Message("user", prompt)], trial=trial, view=view)


async def text(model: Model, request: ModelRequest) -> str:
    return (await model.ask(request)).text


async def test_rows_are_found_by_seed(opened: Opened, tmp_path: Path) -> None:
    rows = lines(
        {"row": 0, "question": LONG, "completion": "A: 1", "is_correct": False},
        {"row": 1, "question": OTHER, "completion": "A: 2", "answer": "gold"},
    )
    model = replay(opened, tmp_path, rows)
    await model.check()
    assert model.capabilities.local
    assert not model.capabilities.structured
    reply = await model.ask(asked(1, f"[Step 1]\n{OTHER}"))
    assert (reply.text, reply.usage.cost_usd, reply.usage.total) == ("A: 2", 0.0, 0)
    assert reply.model == f"replay/{tmp_path}/r.jsonl"


@pytest.mark.parametrize("key", ["row", "index", "seed"])
async def test_rows_of_data_are_found_by_their_place(key: str, opened: Opened, tmp_path: Path) -> None:
    model = replay(opened, tmp_path, lines({key: 0, "completion": "a"}, {key: 1, "completion": "b"}))
    assert await text(model, asked(row=1, task="biology/17")) == "b"


async def test_a_seed_and_a_row_of_one_record_are_told_apart(opened: Opened, tmp_path: Path) -> None:
    model = replay(opened, tmp_path, lines({"seed": 42, "index": 0, "text": "a"}, {"seed": 0, "index": 1, "text": "b"}))
    assert [await text(model, asked(row=0)), await text(model, asked(0))] == ["a", "b"]


async def test_a_record_that_names_its_task_belongs_to_it(opened: Opened, tmp_path: Path) -> None:
    model = replay(opened, tmp_path, lines({"id": "x", "index": 0, "text": "a"}, {"id": "y", "index": 0, "text": "b"}))
    assert await text(model, asked(row=0, task="y")) == "b"


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([{"row": 1, "text": "a"}, {"row": 2, "text": "b"}], "numbered from 1, but rows count from 0"),
        ([{"row": 0, "trial": 0, "text": "a"}, {"row": 0, "trial": 0, "text": "b"}], "2 completions for trial 0"),
    ],
)
async def test_records_that_may_mean_another_row_or_trial_are_told(
    records: list[dict[str, Any]], said: str, opened: Opened, tmp_path: Path
) -> None:
    with pytest.raises(EpisodeError, match=said):
        await text(replay(opened, tmp_path, lines(*records)), asked(row=0))


def test_a_record_of_two_rows_is_refused(opened: Opened, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="row 3 and index 4"):
        replay(opened, tmp_path, lines({"row": 3, "index": 4, "text": "a"}))


async def test_the_question_decides_when_the_seed_means_another_row(opened: Opened, tmp_path: Path) -> None:
    rows = lines({"row": 0, "question": LONG, "completion": "1"}, {"row": 1, "question": OTHER, "completion": "2"})
    model = replay(opened, tmp_path, rows)
    assert await text(model, asked(0, f"Solve: {OTHER} Think.")) == "2"


async def test_a_seed_is_enough_when_the_prompt_words_the_question_anew(opened: Opened, tmp_path: Path) -> None:
    model = replay(opened, tmp_path, lines({"row": 0, "question": LONG, "completion": "1"}))
    assert await text(model, asked(0, "the ducks problem")) == "1"


@pytest.mark.parametrize(
    "prompt",
    [
        LONG,
        f"[Step 1]\n{LONG}\nAnswer:",
        LONG.replace(" ", "\n"),
        "[Step 1]\n" + json.dumps({"question": LONG, "hint": "x"}, ensure_ascii=False),
    ],
)
async def test_a_question_is_found_inside_the_prompt(opened: Opened, tmp_path: Path, prompt: str) -> None:
    rows = lines({"question": OTHER, "completion": "other"}, {"question": LONG, "completion": "this"})
    assert await text(replay(opened, tmp_path, rows), asked(99, prompt)) == "this"


async def test_quotes_and_line_ends_inside_json_observations_do_not_hide_a_question(
    opened: Opened, tmp_path: Path
) -> None:
    question = 'He said "how many?"\nNobody knew the answer to that.'
    model = replay(opened, tmp_path, lines({"question": question, "completion": "this"}))
    assert await text(model, asked(5, "[Step 1]\n" + json.dumps({"q": question}))) == "this"


async def test_the_longest_question_wins(opened: Opened, tmp_path: Path) -> None:
    rows = lines(
        {"question": "How many eggs are there", "completion": "short"},
        {"question": "How many eggs are there in the basket of Janet?", "completion": "long"},
        {"question": "eggs", "completion": "word"},
    )
    model = replay(opened, tmp_path, rows)
    assert await text(model, asked(None, "How many eggs are there in the basket of Janet?")) == "long"
    assert await text(model, asked(None, "Tell me: How many eggs are there today?")) == "short"
    assert await text(model, asked(None, "eggs?")) == "word"


async def test_what_the_task_shows_is_looked_at_first(opened: Opened, tmp_path: Path) -> None:
    model = replay(opened, tmp_path, lines({"question": LONG, "completion": "this"}))
    assert await text(model, asked(7, "nothing of it", shown={"question": LONG})) == "this"
    assert await text(model, asked(7, "nothing of it", shown=LONG)) == "this"


@pytest.mark.parametrize("key", ["completion", "response", "output", "text", "answer"])
async def test_completions_go_by_many_names(opened: Opened, tmp_path: Path, key: str) -> None:
    assert await text(replay(opened, tmp_path, lines({"prompt": LONG, key: "this"})), asked(None, LONG)) == "this"


async def test_prompts_may_be_lists_of_messages(opened: Opened, tmp_path: Path) -> None:
    prompt = [{"role": "system", "content": "Solve it."}, {"role": "user", "content": "short"}]
    model = replay(opened, tmp_path, lines({"prompt": prompt, "completion": "this"}))
    assert await text(model, asked(None, "short")) == "this"


async def test_a_json_list_is_read_too(opened: Opened, tmp_path: Path) -> None:
    model = replay(opened, tmp_path, json.dumps([{"seed": 3, "completion": "this"}], indent=1), "r.json")
    assert await text(model, asked(3)) == "this"


async def test_tasks_are_found_by_name(opened: Opened, tmp_path: Path) -> None:
    model = replay(opened, tmp_path, lines({"task_id": "HumanEval/0", "completion": "this"}))
    assert await text(model, asked(None, task="HumanEval/0")) == "this"


async def test_a_single_completion_serves_every_trial(opened: Opened, tmp_path: Path) -> None:
    model = replay(opened, tmp_path, lines({"seed": 1, "completion": "this"}))
    assert [await text(model, asked(1, trial=trial)) for trial in range(3)] == ["this"] * 3


async def test_several_completions_are_the_trials(opened: Opened, tmp_path: Path) -> None:
    rows = lines(*({"seed": 1, "completion": str(n)} for n in range(2)))
    model = replay(opened, tmp_path, rows)
    assert [await text(model, asked(1, trial=trial)) for trial in range(2)] == ["0", "1"]
    with pytest.raises(EpisodeError, match="2 completions for seed 1, none for trial 3"):
        await model.ask(asked(1, trial=2))


async def test_recorded_trials_are_obeyed(opened: Opened, tmp_path: Path) -> None:
    rows = lines({"seed": 1, "trial": 1, "completion": "b"}, {"seed": 1, "trial": 0, "completion": "a"})
    model = replay(opened, tmp_path, rows)
    assert [await text(model, asked(1, trial=trial)) for trial in range(2)] == ["a", "b"]


def exported(**episode: object) -> str:
    turns = [
        {"step": 1, "observation": "o", "reasoning": "think", "action": "left", "reward": 0},
        {"step": 2, "action": {"x": 1}, "reward": 1},
    ]
    bundle = {
        "schema_version": "1",
        "episodes": [{"id": "e2", "seed": 8}, {"id": "e1", "seed": 7, **episode}],
        "traces": {},
        "replay": {"e1": turns, "e2": [{"step": 1, "action": "up"}]},
    }
    return json.dumps(bundle, indent=2)


async def test_an_exported_run_is_played_step_by_step(opened: Opened, tmp_path: Path) -> None:
    model = replay(opened, tmp_path, exported(), "export.json")
    first, second = [await model.ask(asked(7, step=step)) for step in (0, 1)]
    assert (first.text, first.reasoning) == ("left", "think")
    assert (second.text, second.reasoning) == ('{"x":1}', "")
    assert await text(model, asked(8)) == "up"
    with pytest.raises(EpisodeError, match="2 steps for seed 7, but the episode goes on to step 3"):
        await model.ask(asked(7, step=2))


async def test_an_export_without_seeds_is_played_by_task(opened: Opened, tmp_path: Path) -> None:
    model = replay(opened, tmp_path, exported(seed=None, task_id="t"), "export.json")
    assert await text(model, asked(None, task="t")) == "left"


async def test_a_task_without_a_recording_names_the_file_and_the_seed(opened: Opened, tmp_path: Path) -> None:
    model = replay(opened, tmp_path, lines({"row": 0, "question": LONG, "completion": "1"}))
    with pytest.raises(EpisodeError, match=r"r\.jsonl has no completion for seed 5 \(1 others\)") as raised:
        await model.ask(asked(5, "something else entirely"))
    assert raised.value.cause is Cause.MODEL_REJECTED
    assert not raised.value.rule.retried


async def test_a_second_step_of_a_single_completion_is_an_error(opened: Opened, tmp_path: Path) -> None:
    model = replay(opened, tmp_path, lines({"seed": 1, "completion": "this"}))
    with pytest.raises(EpisodeError, match="only one completion for seed 1"):
        await model.ask(asked(1, step=1))


async def test_outside_an_episode_the_prompt_decides(opened: Opened, tmp_path: Path) -> None:
    model = replay(opened, tmp_path, lines({"prompt": "2 + 2?", "completion": "4"}))
    reply: ModelReply = await model.ask(ModelRequest([Message("user", "2 + 2?")]))
    assert reply.text == "4"


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("r.jsonl", '{"row": 0, "completion": "a"}\n\n{broken\n', "line 3: is not JSON"),
        ("r.jsonl", '{"row": 0, "completion": "a"}\n3\n', "line 2: is not an object"),
        ("r.jsonl", '{"row": 0}\n{"row": 1, "completion": "a"}', "line 1: has no completion"),
        ("r.jsonl", '{"completion": "a"}\n{"row": 1, "completion": "a"}', "line 1: does not say which task"),
        ("r.jsonl", '{"row": "0", "completion": "a"}\n{}', "line 1.row: is '0'"),
        ("r.jsonl", '{"row": true, "completion": "a"}\n{}', "line 1.row: is True"),
        ("r.jsonl", "", "holds no completions"),
        ("r.json", "[1]", r"\[0\]: is not an object"),
        ("r.json", "{", "is not JSON"),
        ("r.json", '{"replay": []}', "replay: is not an object"),
        ("r.json", '{"replay": {"e": [{"action": "a"}]}}', "replay.e: has a turn without a step"),
    ],
)
def test_problems_of_the_file_are_named_by_place(
    opened: Opened, tmp_path: Path, name: str, content: str, place: str
) -> None:
    with pytest.raises(InvalidInput, match=place):
        replay(opened, tmp_path, content, name)


def test_all_problems_are_listed_together(opened: Opened, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as raised:
        replay(opened, tmp_path, "{\n[]\n" + lines({"row": 1, "completion": "a"}))
    assert [problem.path for problem in raised.value.problems] == ["line 1", "line 2"]


def test_a_missing_file_and_an_address_are_usage_errors(opened: Opened, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        opened(f"replay/{tmp_path}/none.jsonl")
    with pytest.raises(UsageError, match="no base URL"):
        opened("replay/x.jsonl@http://127.0.0.1:1")


async def test_a_single_json_line_is_a_recording(opened: Opened, tmp_path: Path) -> None:
    for name in ("r.jsonl", "r.json"):
        assert await text(replay(opened, tmp_path, '{"row": 1, "completion": "a"}', name), asked(1)) == "a"


async def test_recorded_calls_are_said_as_json(opened: Opened, tmp_path: Path) -> None:
    line = '{"row": 1, "calls": [{"look": {"far": true}}, {"wait": "{}"}]}'
    assert await text(replay(opened, tmp_path, line), asked(1)) == '[{"look":{"far":true}},{"wait":"{}"}]'
