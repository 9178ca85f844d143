"""A rollout as a benchmark: rows, rewards and failures as the engine and the store take them."""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mesocosm.core.backoff import Backoff
from mesocosm.core.failure import Cause, EpisodeError, UsageError
from mesocosm.core.model import Capabilities, ModelReply, ModelRequest, ModelSettings
from mesocosm.core.ports import Observer, Parts
from mesocosm.core.registry import AGENTS, MODELS, SOURCES
from mesocosm.core.run import AgentSettings, BenchmarkRef, Run, RunSpec, RunStatus, Selection
from mesocosm.core.score import MetricResult
from mesocosm.core.usage import Usage
from mesocosm.engine import opening, session
from mesocosm.engine.rescoring import rescore
from mesocosm.http.client import HttpClient
from mesocosm.rollouts.benchmark import UNBOUNDED, GradingTerms, RolloutBenchmark, RolloutSource, Rows
from mesocosm.rollouts.executor import BlockedLoop, LineLog, ModelAccess, PlayedSample, RowFailure, RowJob, RowOutcome
from mesocosm.rollouts.local import InProcessExecutor
from mesocosm.rollouts.rows import RolloutRow
from mesocosm.store import Store, open_store

Playing = Callable[[RowJob], Any]


class Stand:
    """A place that gives what a function says; it remembers what it was asked to do."""

    def __init__(self, playing: Playing, capacity: int | None = None) -> None:
        self.playing = playing
        self.capacity = capacity
        self.works: list[RowJob] = []
        self.most = self.now = 0
        self.closed = False

    async def open(self, notice: Callable[[str], None]) -> None:
        notice("open")

    async def run(self, work: RowJob, log: LineLog) -> RowOutcome:
        self.works.append(work)
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(0)
            found = self.playing(work)
            ended = await found if asyncio.iscoroutine(found) else found
            assert isinstance(ended, RowOutcome)
            return ended
        finally:
            self.now -= 1

    async def close(self) -> None:
        self.closed = True


def row(index: int, label: str | None = "x", metadata: dict[str, Any] | None = None, **labels: str) -> RolloutRow:
    return RolloutRow(index, ({"role": "user", "content": f"question {index}"},), label, metadata, labels)


def said(text: str, reward: float | None, **more: Any) -> RowOutcome:
    messages = [{"role": "assistant", "content": text}]
    return RowOutcome(PlayedSample(messages, reward, **more))


class Bench:
    """Runs rows on a stand."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store = store
        self.folder = folder
        self.places: list[Stand] = []

    def open(
        self,
        playing: Playing,
        rows: list[RolloutRow],
        terms: GradingTerms,
        capacity: int | None,
        inputs: dict[str, str],
        capped: bool,
    ) -> RolloutBenchmark:
        self.places.append(Stand(playing, capacity))
        chosen = Rows("sums", rows, range(len(rows)), "all rows", "d1")
        origin = RolloutSource("adder", "m", inputs)
        return RolloutBenchmark(
            origin, chosen, terms, self.places[-1], artifacts=self.folder / "artifacts", capped=capped
        )

    async def run(
        self,
        playing: Playing,
        rows: list[RolloutRow],
        *,
        terms: GradingTerms | None = None,
        trials: int = 1,
        model: str = "builtin/oracle",
        capacity: int | None = None,
        parallel: int = 4,
        capped: bool = False,
        judge: str = "",
        observer: Observer | None = None,
    ) -> Run:
        SOURCES.register("stand")(
            lambda ref: self.open(playing, rows, terms or GradingTerms(), capacity, {"source": "1"}, capped)
        )
        spec = RunSpec(
            BenchmarkRef("stand", ""),
            ModelSettings(model),
            AgentSettings("program", label="adder"),
            Selection(trials=trials),
            parallel=parallel,
            judge=ModelSettings(judge) if judge else None,
        )
        settings = session.SessionOptions(backoff=Backoff(base=0.0))
        return await session.run(spec, self.store, [observer] if observer is not None else [], settings=settings)

    def metric(self, run: Run, name: str) -> MetricResult:
        return next(metric for metric in run.metrics if metric.name == name)

    def scores(self, run: Run) -> dict[str, dict[str, float | None]]:
        found = self.store.episodes.list(run.id).items
        return {one.task_id: {score.name: score.value for score in one.scores} for one in found}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bench]:
    monkeypatch.setattr(SOURCES, "_own", dict(SOURCES._own))
    store = open_store(tmp_path / "results.sqlite")
    yield Bench(store, tmp_path)
    store.close()


async def test_rewards_become_the_score_and_the_pass_rate(bench: Bench) -> None:
    run = await bench.run(lambda work: said("a", (0.0, 0.5, 1.0)[work.row]), [row(0), row(1), row(2)])
    assert (run.benchmark, run.agent, run.kind) == ("sums", "adder", "rollout")
    assert bench.metric(run, "reward").value == 0.5
    assert bench.metric(run, "reward").primary
    assert bench.metric(run, "pass_rate").value == pytest.approx(1 / 3)


async def test_a_reward_that_equals_the_threshold_passes(bench: Bench) -> None:
    run = await bench.run(lambda work: said("a", 0.7), [row(0)], terms=GradingTerms(pass_threshold=0.7))
    assert bench.metric(run, "pass_rate").value == 1.0


async def test_a_failed_workflow_counts_as_worst_and_a_failed_grader_is_missing(bench: Bench) -> None:
    def play(work: RowJob) -> RowOutcome:
        if work.row == 0:
            return RowOutcome(failure=RowFailure(Cause.WORKFLOW_FAILED, "it raised KeyError", "traceback"))
        if work.row == 1:
            return RowOutcome(PlayedSample([{"role": "assistant"}]), RowFailure(Cause.GRADER_ERROR, "no such label"))
        return said("a", 1.0)

    run = await bench.run(play, [row(0), row(1), row(2)])
    reward, rate = bench.metric(run, "reward"), bench.metric(run, "pass_rate")
    assert (reward.value, reward.n_worst, reward.missing) == (0.5, 1, {"grader_error": 1})
    assert rate.value == 0.5
    assert rate.pessimistic == pytest.approx(1 / 3)
    failed = bench.store.episodes.list(run.id).items[0]
    assert failed.failure is not None
    assert (failed.failure.cause, failed.failure.detail) == (Cause.WORKFLOW_FAILED, "traceback")


async def test_where_code_blocked_is_kept_and_a_failed_row_keeps_its_label(bench: Bench) -> None:
    def play(work: RowJob) -> RowOutcome:
        blocked = BlockedLoop(2.25, "main.py:31 in run")
        return RowOutcome(failure=RowFailure(Cause.WORKFLOW_TIMEOUT, "too long"), blocked=blocked)

    run = await bench.run(play, [row(0, "gold")])
    facts = bench.store.episodes.list(run.id).items[0].terminal_info
    assert facts["blocked"] == {"seconds": 2.25, "where": "main.py:31 in run"}
    assert facts["label"] == "gold"


async def test_a_failed_workflow_is_worth_the_lowest_reward_where_that_is_below_zero(bench: Bench) -> None:
    def play(work: RowJob) -> RowOutcome:
        return said("a", -2.0) if work.row else RowOutcome(failure=RowFailure(Cause.WORKFLOW_TIMEOUT, "too long"))

    run = await bench.run(play, [row(0), row(1)])
    assert bench.metric(run, "reward").value == -2.0


async def test_what_a_grader_leaves_out_is_counted_nowhere(bench: Bench) -> None:
    run = await bench.run(lambda work: said("a", None if work.row else 1.0, left_out=bool(work.row)), [row(0), row(1)])
    reward = bench.metric(run, "reward")
    assert (reward.value, reward.n_planned, reward.missing) == (1.0, 1, {})


async def test_a_sample_that_nobody_graded_is_missing_and_says_why(bench: Bench) -> None:
    run = await bench.run(lambda work: said("a", None), [row(0)])
    assert run.status == "failed"
    (score,) = bench.store.episodes.list(run.id).items[0].scores[:1]
    assert score.missing is Cause.VALUE_MISSING
    assert "no grader" in score.explanation


async def test_a_wrong_row_says_what_its_conversation_ended_with(bench: Bench) -> None:
    call = {"id": "1", "type": "function", "function": {"name": "stock", "arguments": "{}"}}
    played = PlayedSample(
        [
            {"role": "assistant", "content": "", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "1", "content": "12"},
            {"role": "assistant", "content": "<think>Hm.</think>There are 12."},
            {"role": "assistant", "content": None, "tool_calls": [call]},
        ],
        0.0,
    )
    run = await bench.run(lambda _: RowOutcome(played), [row(0, "11")])
    (episode,) = bench.store.episodes.list(run.id).items
    assert (episode.answer, episode.why) == ("There are 12.", "It gives There are 12., expected 11")


async def test_a_workflow_that_left_no_sample_failed_by_its_own_doing(bench: Bench) -> None:
    run = await bench.run(lambda work: said("a", 1.0) if work.row else RowOutcome(), [row(0), row(1)])
    assert bench.metric(run, "reward").value == 0.5
    failure = bench.store.episodes.list(run.id).items[0].failure
    assert failure is not None
    assert failure.cause is Cause.WORKFLOW_INVALID
    assert "return the messages from run" in failure.message


async def test_a_grader_that_failed_keeps_its_cause_where_the_sample_was_lost_with_it(bench: Bench) -> None:
    run = await bench.run(lambda _: RowOutcome(failure=RowFailure(Cause.GRADER_TIMEOUT, "too long")), [row(0)])
    assert bench.metric(run, "reward").missing == {"grader_timeout": 1}


async def test_metrics_of_samples_become_metrics_of_the_run(bench: Bench) -> None:
    def play(work: RowJob) -> RowOutcome:
        return said("a", 1.0, metrics={"turns": 2.0 * work.row, "reward": 9.0})

    run = await bench.run(play, [row(0), row(1)])
    turns = bench.metric(run, "turns")
    assert (turns.value, turns.directed, turns.n_scored, turns.missing) == (1.0, False, 2, {})
    assert bench.metric(run, "reward").value == 1.0
    assert bench.metric(run, "metrics.reward").value == 9.0


async def test_a_failed_sample_lacks_the_metrics_that_all_others_have(bench: Bench) -> None:
    def play(work: RowJob) -> RowOutcome:
        return (
            said("a", 1.0, metrics={"turns": 2.0})
            if work.row
            else RowOutcome(failure=RowFailure(Cause.WORKFLOW_FAILED, ""))
        )

    run = await bench.run(play, [row(0), row(1)])
    turns = bench.metric(run, "turns")
    assert (turns.n_planned, turns.n_scored, turns.missing) == (2, 1, {"agent_failure": 1})


async def test_work_says_everything_that_a_try_needs(bench: Bench) -> None:
    facts = {"level": 3}
    await bench.run(
        lambda work: said("a", 1.0),
        [row(5, "gold", facts)],
        terms=GradingTerms(workflow_seconds=9.0, grader_seconds=4.0),
        trials=2,
    )
    first, second = bench.places[-1].works
    assert (first.row, first.label, first.metadata, first.trial, second.trial) == (5, "gold", facts, 0, 1)
    assert list(first.prompt) == [{"role": "user", "content": "question 5"}]
    assert (first.workflow_seconds, first.grader_seconds) == (9.0, 4.0)
    assert first.seed != second.seed
    assert first.model.base_url.startswith("http://127.0.0.1:")
    assert first.judge is not None
    assert first.judge.api_key != first.model.api_key


async def test_the_seed_of_a_try_is_the_same_in_every_run(bench: Bench) -> None:
    seeds = []
    for _ in range(2):
        await bench.run(lambda work: said("a", 1.0), [row(0)])
        seeds.append(bench.places[-1].works[0].seed)
    assert seeds[0] == seeds[1]


async def complete(access: ModelAccess, text: str) -> Mapping[str, Any]:
    import json

    async with HttpClient() as client:
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()
        headers = {"authorization": f"Bearer {access.api_key}", "content-type": "application/json"}
        response = await client.request(
            "POST", f"{access.base_url}/chat/completions", headers=headers, body=body, timeout=20
        )
        found = json.loads(response.body)
        assert isinstance(found, dict)
        return {"status": response.status, **found}


async def test_the_model_of_a_try_is_the_runs_and_the_oracle_says_the_label(bench: Bench) -> None:
    async def play(work: RowJob) -> RowOutcome:
        reply = await complete(work.model, "say it")
        text = reply["choices"][0]["message"]["content"]
        return said(text, float(text == work.label))

    run = await bench.run(play, [row(0, "gold")])
    assert bench.metric(run, "reward").value == 1.0
    assert run.usage.calls == 1


async def test_calls_of_the_judge_are_recorded_as_such(bench: Bench) -> None:
    async def play(work: RowJob) -> RowOutcome:
        assert work.judge is not None
        await complete(work.judge, "how good is it?")
        return said("a", 1.0)

    run = await bench.run(play, [row(0)])
    events = list(bench.store.traces.events(bench.store.episodes.list(run.id).items[0].id))
    (call,) = [event.payload for event in events if event.kind == "model_call"]
    assert call["role"] == "judge"


class Says:
    """A model that says `text`, after `failing` calls that are not answered."""

    def __init__(self, text: str, failing: int = 0) -> None:
        self.capabilities = Capabilities()
        self.text, self.failing = text, failing
        self.calls = 0
        self.server: dict[str, str] = {}

    async def check(self) -> None: ...

    async def ask(self, request: ModelRequest) -> ModelReply:
        self.calls += 1
        if self.calls <= self.failing:
            raise EpisodeError(Cause.MODEL_UNAVAILABLE, "the server answered 503", overload=True)
        return ModelReply(self.text, usage=Usage(7, 3, calls=1), model=self.text, served=f"{self.text}-0815")

    async def close(self) -> None: ...


@pytest.fixture
def said_by(monkeypatch: pytest.MonkeyPatch) -> dict[str, Says]:
    """Models `m/m` and `j/j`, by name."""
    monkeypatch.setattr(MODELS, "_own", dict(MODELS._own))
    models = {"m": Says("from the model"), "j": Says("from the judge")}
    for name in list(models):
        MODELS.register(name)(lambda settings, name=name: models[name])
    return models


async def judged(work: RowJob) -> RowOutcome:
    assert work.judge is not None
    answers = [await complete(access, "hello") for access in (work.model, work.judge)]
    return said(" and ".join(answer["choices"][0]["message"]["content"] for answer in answers), 1.0)


async def test_a_judge_of_its_own_answers_whatever_protocol_it_speaks(bench: Bench, said_by: dict[str, Says]) -> None:
    run = await bench.run(judged, [row(0)], model="m/m", judge="j/j")
    events = list(bench.store.traces.events(bench.store.episodes.list(run.id).items[0].id))
    assert [event.payload["text"] for event in events if event.kind == "model_call"] == [
        "from the model",
        "from the judge",
    ]
    assert run.provenance["server"] == {"served": "from the model-0815", "judge_served": "from the judge-0815"}


async def test_an_outage_of_the_judge_holds_the_run_up_and_says_nothing_of_its_model(
    bench: Bench, said_by: dict[str, Says]
) -> None:
    said_by["j"].failing = 12
    notices: list[str] = []

    class Listening(Observer):
        def notice(self, message: str) -> None:
            notices.append(message)

    run = await bench.run(judged, [row(number) for number in range(8)], model="m/m", judge="j/j", observer=Listening())
    assert (run.status, run.counts.completed) == (RunStatus.FINISHED, 8)
    assert any("the judge j/j has not answered since" in notice for notice in notices)
    assert not any("the model" in notice for notice in notices)


class Lapsing(Says):
    """A model that fails at what it is asked about `topic`, as often as `failing` says, and answers all else."""

    def __init__(self, topic: str, cause: Cause, failing: int = 1000) -> None:
        super().__init__("fine")
        self.topic, self.cause, self.left = topic, cause, failing

    async def ask(self, request: ModelRequest) -> ModelReply:
        if self.topic in request.messages[-1].text and self.left:
            self.left -= 1
            raise EpisodeError(self.cause, "no answer")
        return await super().ask(request)


async def scored(work: RowJob, model: ModelAccess, tries: int = 1) -> RowOutcome:
    """Give half a point for each of two questions that are answered within some tries."""
    points = 0.0
    await complete(work.model, "hello")
    for words in ("first", "second"):
        for _ in range(tries):
            if "choices" in await complete(model, words):
                points += 0.5
                break
    return said("a", points)


@pytest.mark.parametrize(
    ("role", "topic", "cause"),
    [
        *(("model", "first", cause) for cause in (Cause.MODEL_INVALID, Cause.MODEL_TIMEOUT)),
        *(("judge", "first", cause) for cause in (Cause.MODEL_INVALID, Cause.MODEL_TIMEOUT, Cause.MODEL_REJECTED)),
        *((role, "second", Cause.MODEL_REJECTED) for role in ("model", "judge")),
    ],
)
async def test_what_a_program_or_its_grader_makes_of_no_answer_is_no_score(
    bench: Bench, said_by: dict[str, Says], role: str, topic: str, cause: Cause
) -> None:
    said_by[role[0]] = Lapsing(topic, cause)

    async def play(work: RowJob) -> RowOutcome:
        assert work.judge is not None
        return await scored(work, work.judge if role == "judge" else work.model)

    run = await bench.run(play, [row(0)], model="m/m", judge="j/j")
    assert run.status is not RunStatus.FINISHED
    assert bench.metric(run, "reward").n_scored == 0
    (episode, *_) = bench.store.episodes.list(run.id).items
    assert [score.missing for score in episode.scores] == [cause]


@pytest.mark.parametrize("role", ["model", "judge"])
async def test_a_question_that_a_program_or_its_grader_asks_again_is_answered(
    bench: Bench, said_by: dict[str, Says], role: str
) -> None:
    said_by[role[0]] = Lapsing("first", Cause.MODEL_REJECTED, failing=2)

    async def play(work: RowJob) -> RowOutcome:
        assert work.judge is not None
        return await scored(work, work.judge if role == "judge" else work.model, tries=3)

    run = await bench.run(play, [row(0)], model="m/m", judge="j/j")
    assert (run.status, bench.metric(run, "reward").value) == (RunStatus.FINISHED, 1.0)


@pytest.mark.parametrize("asks", [False, True])
async def test_calls_of_graders_are_no_calls_of_the_runs_model(
    bench: Bench, said_by: dict[str, Says], asks: bool
) -> None:
    async def play(work: RowJob) -> RowOutcome:
        assert work.judge is not None
        if asks and work.row == 1:
            await complete(work.model, "hello")
        await complete(work.judge, "how good is it?")
        return said("from elsewhere", 1.0)

    run = await bench.run(play, [row(0), row(1)], model="m/m", judge="j/j")
    assert (run.unasked, bool(run.doubt)) == (not asks, not asks)
    assert any("no call of the model is on record" in warning for warning in run.warnings) is not asks
    infos = [episode.terminal_info["judge_calls"] for episode in bench.store.episodes.list(run.id).items]
    assert infos == [1, 1]


async def test_a_run_goes_on_only_with_the_servers_that_answered_it(bench: Bench, said_by: dict[str, Says]) -> None:
    async def once(work: RowJob) -> RowOutcome:
        if work.row:
            raise EpisodeError(Cause.ROLLOUT_FAILED, "not now")
        return await judged(work)

    said_by["j"].server = {"address": "http://127.0.0.1:1/v1"}
    rows = [row(number) for number in range(2)]
    run = await bench.run(once, rows, model="m/m", judge="j/j")
    assert (run.status, run.counts.pending) == (RunStatus.PARTIAL, 1)
    SOURCES.register("stand")(lambda ref: bench.open(judged, rows, GradingTerms(), None, {"source": "1"}, False))
    said_by["j"].server = {"address": "http://127.0.0.1:2/v1"}
    with pytest.raises(UsageError, match=r"mix two servers: .*the address of the judge was .*:1/v1, is .*:2/v1"):
        await session.resume(run.id, bench.store)
    run = await session.resume(run.id, bench.store, settings=session.SessionOptions(same_server=True))
    assert (run.status, run.counts.pending) == (RunStatus.FINISHED, 0)
    assert run.provenance["server"]["judge_address"] == "http://127.0.0.1:1/v1, http://127.0.0.1:2/v1"


WORKFLOW = """
import asyncio
from mesocosm.rollouts import AgentWorkflow, Grader, LocalBackend

class Raises(AgentWorkflow):
    async def run(self, ctx):
        if ctx.metadata["raises"]:
            raise {error}
        return [{{"role": "assistant", "content": "4"}}]

class Reward(Grader):
    async def grade(self, ctx):
        ctx.set_reward(1.0)

backend = LocalBackend(workflow=Raises, grader=Reward)
"""


class Raises:
    """An agent that raises in the rows that say so, and hands the others over."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    async def play(self, context: Any) -> None:
        if context.task.id.endswith("1"):
            raise self.error
        await context.reset()
        await context.hand_over()


@pytest.mark.parametrize(
    "error", ["KeyError('plan')", "TimeoutError('late')", "SystemExit(2)", "asyncio.CancelledError('inner')"]
)
@pytest.mark.parametrize("raised_by", ["agent", "workflow"])
async def test_an_exception_counts_as_worst_whether_an_agent_or_a_workflow_raises_it(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: str, raised_by: str
) -> None:
    (tmp_path / "main.py").write_text(WORKFLOW.format(error=error))
    monkeypatch.setattr(AGENTS, "_own", dict(AGENTS._own))
    AGENTS.register("raises")(lambda options: Raises(eval(error)))
    rows = [row(number, metadata={"raises": number == 1 and raised_by == "workflow"}) for number in range(3)]
    origin = RolloutSource("adder", "m", {"source": "1"})

    def opened(ref: BenchmarkRef) -> RolloutBenchmark:
        place = InProcessExecutor(tmp_path, "main.py")
        chosen = Rows("sums", rows, range(len(rows)), "all rows", "d1")
        return RolloutBenchmark(origin, chosen, GradingTerms(), place, artifacts=tmp_path / "artifacts", capped=False)

    SOURCES.register("stand")(opened)
    agent = AgentSettings("raises" if raised_by == "agent" else "program")
    run = await session.run(RunSpec(BenchmarkRef("stand", ""), ModelSettings("builtin/empty"), agent), bench.store)
    reward = bench.metric(run, "reward")
    assert (run.status, reward.n_scored, reward.n_worst, reward.missing) == (RunStatus.FINISHED, 3, 1, {})
    assert reward.value == pytest.approx(2 / 3)


async def test_what_a_recording_does_not_have_is_missing_and_never_a_zero(bench: Bench, tmp_path: Path) -> None:
    recording = tmp_path / "said.jsonl"
    recording.write_text('{"prompt": "question 0", "completion": "gold"}\n')

    async def play(work: RowJob) -> RowOutcome:
        # A workflow that makes an empty answer of whatever goes wrong.
        choices = (await complete(work.model, f"question {work.row}")).get("choices") or [{"message": {"content": ""}}]
        text = choices[0]["message"]["content"]
        return said(text, float(text == "gold"))

    run = await bench.run(play, [row(0), row(1)], model=f"replay/{recording}")
    reward = bench.metric(run, "reward")
    assert (run.status, reward.value, reward.n_scored) == (RunStatus.PARTIAL, 1.0, 1)
    assert reward.missing == {"model_rejected": 1}


@pytest.mark.parametrize("key", ["row", "index", "seed"])
async def test_a_recording_is_found_by_the_place_of_a_row(key: str, bench: Bench, tmp_path: Path) -> None:
    recording = tmp_path / "said.jsonl"
    recording.write_text("".join(json.dumps({key: place, "completion": f"said {place}"}) + "\n" for place in (7, 3)))

    async def play(work: RowJob) -> RowOutcome:
        text = (await complete(work.model, "the same for all"))["choices"][0]["message"]["content"]
        return said(text, float(text == f"said {work.row}"))

    run = await bench.run(play, [row(3), row(7)], model=f"replay/{recording}")
    assert bench.metric(run, "reward").value == 1.0


async def test_labels_of_rows_are_kept_with_their_episodes(bench: Bench) -> None:
    run = await bench.run(lambda work: said("a", 1.0), [row(0, level="hard"), row(1, level="easy")])
    assert [one.labels for one in bench.store.episodes.list(run.id).items] == [{"level": "hard"}, {"level": "easy"}]


async def test_the_messages_of_a_sample_are_the_last_observation(bench: Bench) -> None:
    run = await bench.run(lambda work: said("forty-two", 1.0), [row(0, "gold")])
    events = list(bench.store.traces.events(bench.store.episodes.list(run.id).items[0].id))
    shown = [event.payload["data"] for event in events if event.kind == "observation"]
    assert shown[-1] == {"messages": [{"role": "assistant", "content": "forty-two"}], "label": "gold"}


async def test_files_of_a_try_are_named(bench: Bench) -> None:
    def play(work: RowJob) -> RowOutcome:
        work.artifacts.mkdir(parents=True)
        (work.artifacts / "plot.txt").write_text("a plot")
        return said("a", 1.0)

    run = await bench.run(play, [row(0)])
    episode = bench.store.episodes.list(run.id).items[0]
    assert episode.terminal_info["artifacts"] == f"artifacts/{episode.id}"


async def test_no_more_rows_are_in_flight_than_the_rollout_takes(bench: Bench) -> None:
    await bench.run(lambda work: said("a", 1.0), [row(n) for n in range(9)], capacity=2)
    assert bench.places[-1].most <= 2


async def test_where_nobody_chose_and_the_rollout_sets_no_limit_a_default_number_of_rows_is_in_flight(
    bench: Bench,
) -> None:
    together = asyncio.Barrier(UNBOUNDED)

    async def play(work: RowJob) -> RowOutcome:
        await together.wait()
        return said("a", 1.0)

    await bench.run(play, [row(n) for n in range(2 * UNBOUNDED)], capped=True, parallel=256)
    assert bench.places[-1].most == UNBOUNDED


async def test_scores_are_read_again_from_what_graders_left(bench: Bench) -> None:
    run = await bench.run(lambda work: said("a", 0.5, metrics={"turns": 3.0}), [row(0)])
    terms = GradingTerms(pass_threshold=0.5)
    again = bench.open(lambda work: said("a", 0.0), [row(0)], terms, None, {"source": "1"}, False)
    run = await rescore(run, again, bench.store)
    assert bench.metric(run, "pass_rate").value == 1.0
    assert bench.metric(run, "turns").value == 3.0
    assert bench.places[-1].works == []


async def test_a_place_that_breaks_fails_the_sample_without_blame(bench: Bench) -> None:
    def play(work: RowJob) -> RowOutcome:
        raise EpisodeError(Cause.ROLLOUT_FAILED, "its process ended")

    run = await bench.run(play, [row(0)])
    assert bench.metric(run, "reward").missing == {"rollout_failed": 1}


async def test_identical_rows_are_tried_each(bench: Bench) -> None:
    same = [RolloutRow(n, ({"role": "user", "content": "same"},), "x", None) for n in range(3)]
    run = await bench.run(lambda work: said("a", float(work.row == 2)), same)
    assert run.counts.completed == 3
    assert bench.metric(run, "reward").value == pytest.approx(1 / 3)


async def test_a_changed_rollout_cannot_go_on_and_is_named(bench: Bench) -> None:
    run = await bench.run(lambda work: said("a", 1.0), [row(0)])
    again = bench.open(lambda work: said("a", 1.0), [row(0)], GradingTerms(), None, {"source": "2"}, False)
    async with opening.opened(run.spec) as parts:
        changed = Parts(again, parts.model, parts.agent)
        with pytest.raises(UsageError, match="source"):
            await session.play_on(run, changed, bench.store)


async def test_the_place_is_closed_at_the_end(bench: Bench) -> None:
    await bench.run(lambda work: said("a", 1.0), [row(0)])
    assert bench.places[-1].closed
