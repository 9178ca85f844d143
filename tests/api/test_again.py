"""The same call again: what is finished is not asked for again, what changed is noticed."""

import asyncio
from pathlib import Path

import pytest
from tests.api.conftest import ROWS, doubled

import mesocosm as mc
from mesocosm.testing.fault import Fault, FaultKind
from mesocosm.testing.model_server import ModelServer


async def evaluated(model: str, **arguments: object) -> mc.Run:
    given = {"prompt": "{question}", "grader": "numeric", "model": model, **arguments}
    return await mc.aevaluate(given.pop("what", ROWS), **given)


async def test_a_finished_run_is_found_and_nothing_is_asked(server: ModelServer, model: str) -> None:
    first = await evaluated(model)
    again = await evaluated(model)
    assert (first.id, first.score, server.served) == (again.id, 1.0, 6)


async def test_the_name_of_a_later_call_finds_the_run(server: ModelServer, model: str) -> None:
    first = await evaluated(model)
    again = await evaluated(model, name="course")
    assert (mc.get_run("course").id, again.name, server.served) == (first.id, "course", 6)


async def test_fresh_starts_over(server: ModelServer, model: str) -> None:
    first = await evaluated(model)
    assert (await evaluated(model, fresh=True)).id != first.id
    assert server.served == 12


async def test_more_rows_and_trials_ask_only_what_is_new(server: ModelServer, model: str) -> None:
    await evaluated(model, limit=2)
    assert server.served == 2
    more = await evaluated(model, limit=5)
    assert (server.served, more.score) == (5, 1.0)
    assert any("answers taken over, and not asked for again: 2 of run" in note for note in more.notes)
    await evaluated(model, limit=5, trials=2)
    assert server.served == 10


async def test_another_grader_grades_the_stored_answers(server: ModelServer, model: str) -> None:
    await evaluated(model)

    def short(answer: str, expected: str) -> bool:
        return len(answer) < 2

    graded = await evaluated(model, grader=short)
    assert server.served == 6
    assert graded.score == pytest.approx(5 / 6)
    assert (await evaluated(model)).score == 1.0


@pytest.mark.parametrize(
    "changed", [{"prompt": "Add {question}"}, {"system": "Add."}, {"temperature": 0.5}, {"max_tokens": 9}]
)
async def test_what_the_model_is_asked_is_part_of_the_experiment(
    server: ModelServer, model: str, changed: dict[str, object]
) -> None:
    first = await evaluated(model, limit=1)
    second = await evaluated(model, limit=1, **changed)
    assert first.id != second.id
    assert server.served == 2


async def test_an_edited_row_is_asked_alone(server: ModelServer, model: str) -> None:
    await evaluated(model, what=ROWS)
    edited = [{**ROWS[0], "question": "50 + 50?", "answer": "100"}, *ROWS[1:]]
    assert (await evaluated(model, what=edited)).score == 1.0
    assert server.served == 7


async def test_episodes_that_were_cut_off_are_run_by_the_same_call(server: ModelServer, model: str) -> None:
    stopped = await evaluated(model, limits=mc.Limits(tokens=1), parallel=1)
    assert stopped.status == "stopped"
    assert stopped.missing["not_run"] > 0
    assert {row["cause"] for row in stopped.why()} <= {"not_run"}
    whole = await evaluated(model, parallel=1)
    assert (whole.id, whole.status, whole.score) == (stopped.id, "finished", 1.0)
    assert server.served == 6


async def test_an_outage_leaves_the_rest_pending_and_not_zero(place: Path) -> None:
    faults = [None, *[Fault(FaultKind.STATUS, 500)] * 100]
    async with ModelServer(doubled, models=["adder"], faults=faults) as failing:
        run = await evaluated(
            f"openai/adder@{failing.openai_url}", parallel=1, limits=mc.Limits(retries=0, seconds=0.5)
        )
    assert run.status in {"stopped", "failed"}
    assert all(episode.score in {1.0, None} for episode in run.episodes())
    assert run.score is None or run.score.n == 1


async def test_a_server_that_is_not_there_stores_nothing(place: Path) -> None:
    async with ModelServer(doubled) as gone:
        url = gone.openai_url
    with pytest.raises(mc.RunAborted):
        await evaluated(f"openai/adder@{url}")
    assert len(mc.runs()) == 0


async def test_results_of_another_model_at_the_same_address_are_not_given_out(server: ModelServer, model: str) -> None:
    await evaluated(model)
    server.models = ["adder", "another"]
    with pytest.raises(mc.UsageError, match=r"answered by another server.*fresh=True"):
        await evaluated(model)
    assert (await evaluated(model, fresh=True)).score == 1.0


async def test_results_that_were_removed_are_made_anew(place: Path, server: ModelServer, model: str) -> None:
    await evaluated(model)
    for file in (place / "results").iterdir():
        file.unlink()
    assert (await evaluated(model)).score == 1.0
    assert server.served == 12
    assert len(mc.runs()) == 1


async def test_keys_are_nowhere_in_the_results(place: Path, server: ModelServer, model: str) -> None:
    key = "sk-of-the-test-0123456789"
    await evaluated(model, prompt=f"{key} {{question}}", system=key, name=f"with {key}", tags=[key])
    assert server.requests[-1].header("authorization") == "Bearer sk-of-the-test-0123456789"
    assert all(b"sk-of-the-test-0123456789" not in file.read_bytes() for file in (place / "results").iterdir())


def test_a_run_made_of_objects_says_how_it_goes_on() -> None:
    run = mc.evaluate(ROWS, prompt="{question}", grader="numeric", model="builtin/oracle")
    assert run.resume().id == run.id
    regraded = run.regrade("exact")
    assert (list(regraded.metrics), regraded.id != run.id) == (["exact"], True)
    stored = mc.get_run(run.id)
    with pytest.raises(mc.UsageError, match="repeat"):
        stored.resume()
    with pytest.raises(mc.UsageError, match="repeat its call"):
        stored.regrade("exact")


async def test_the_same_call_at_the_same_time_is_one_run(server: ModelServer, model: str) -> None:
    runs = await asyncio.gather(*(evaluated(model) for _ in range(3)))
    assert (len({run.id for run in runs}), server.served) == (1, 6)


async def test_rows_of_an_iterator_are_there_for_another_grader() -> None:
    run = await evaluated("builtin/oracle", what=iter(ROWS))
    graded = await asyncio.to_thread(run.regrade, "exact")
    assert graded.score == 1.0


@pytest.mark.parametrize("given", [{"api_key": "abc"}, {"user": "sk-of-the-test-0123456789"}])
def test_a_key_among_the_settings_of_a_model_is_refused(given: dict[str, str]) -> None:
    with pytest.raises(mc.UsageError, match="model_args= holds a credential"):
        mc.evaluate(ROWS, prompt="{question}", model="builtin/oracle", model_args=given)


def test_settings_that_only_sound_like_keys_are_none() -> None:
    given = {"max_completion_tokens": 100}
    assert mc.evaluate(ROWS, prompt="{question}", model="builtin/oracle", model_args=given).status == "finished"
