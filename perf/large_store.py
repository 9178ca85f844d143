"""A large store, made by the store's own row functions: it looks like one that was written by runs."""

import random
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import msgspec

from mesocosm.core.entry import Chunk, Entry
from mesocosm.core.episode import Episode, EpisodeStatus
from mesocosm.core.event import Event, Kind
from mesocosm.core.failure import Boundary, Cause, Failure
from mesocosm.core.ids import digest
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import BenchmarkRef, Counts, Run, RunSpec, RunStatus
from mesocosm.core.score import MetricResult, Score
from mesocosm.core.usage import Usage
from mesocosm.store import open_store
from mesocosm.store.database import open_database
from mesocosm.store.episodes import keep_means, recount
from mesocosm.store.rows import answer_row, episode_row, score_rows
from mesocosm.store.run_index import insert_run
from mesocosm.store.schema import answers, episodes, scores

RUNS = 100_000
EPISODES = 1_000_000
EVENTS = 300_000

LARGE = "019f0000-0000-7000-8000-000000000001"
LONG = "019f0000-0000-7000-8000-00000000e001"

_BATCH = 5_000
_ABOUT = "x" * 1_000
_MISTAKES = tuple(f"kind of mistake {number}" for number in range(12))
_QUESTION = "A shop sells {} apples a day at {} cents each. It pays {} for its place. " * 3 + "How much is left?"
_encode = msgspec.json.Encoder().encode
_chance = random.Random(20_26)


def generate(place: str | Path) -> None:
    """Fill an empty store: runs without episodes, a run whose only episode is long, and one of a million."""
    store = open_store(place)
    long = some_run(RUNS - 2, id="019f0000-0000-7000-8000-000000000002", planned=1)
    store.bundles.insert(long, _long_entries(long.id))
    store.close()
    database = open_database(place)
    runs = (some_run(number) for number in range(RUNS - 2))
    while batch := list(islice(runs, _BATCH)):
        with database.once(immediate=True) as connection:
            for run in batch:
                insert_run(database, connection, run)
    with database.once(immediate=True) as connection:
        insert_run(database, connection, some_run(RUNS - 1, id=LARGE, planned=EPISODES))
    found = (_episode(number) for number in range(EPISODES))
    while some := list(islice(found, 10 * _BATCH)):
        with database.once(immediate=True) as connection:
            if not database.postgres:
                connection.exec_driver_sql("PRAGMA cache_size = -500000")
            database.add(connection, episodes, [episode_row(episode, "accuracy") for episode in some])
            rows = [row for episode in some for row in score_rows(episode.id, LARGE, episode.scores)]
            database.add(connection, scores, rows)
            given = map(answer_row, some)
            database.add(connection, answers, [row for row in given if row is not None])
    # As when a run ends.
    database.write(lambda connection: recount(connection, LARGE))
    keep_means(database, LARGE)
    database.close()


def some_run(number: int, *, id: str = "", planned: int = 20) -> Run:  # noqa: A002
    """Return a run of one of sixty benchmarks, with a model, tags, a state and a score by chance."""
    benchmark = f"benchmark-{int(_chance.paretovariate(0.7)) % 60:03}"
    provider = int(_chance.paretovariate(1.0)) % 6
    model = "provider-x/rare" if number % 20_000 == 7 else f"provider-{provider}/model-{_chance.randrange(40)}"
    tags = tuple(f"tag-{tag}" for tag in sorted(_chance.sample(range(40), _chance.randrange(4))))
    status = _chance.choices(list(RunStatus), (1, 1, 88, 2, 5, 3))[0]
    name = f"sweep {number % 997}" if number % 3 else ""
    if number % 25_000 == 3:
        name += " needle"
    created = 1.79e9 + number * 60.0
    value = None if status is not RunStatus.FINISHED else round(_chance.betavariate(2, 3), 3)
    done = planned if status is RunStatus.FINISHED else planned // 2
    metric = {"name": "accuracy", "score": "accuracy", "primary": True, "threshold": 0.5}
    result = MetricResult("accuracy", "mean", value, None, None, "normal", planned, done, done, primary=True)
    return Run(
        id=id or f"019a{number:08x}"[:8] + f"-{number % 65536:04x}-7000-8000-{number:012x}",
        signature=digest([benchmark, model, number // 7]),
        benchmark=benchmark,
        benchmark_title=f"The {benchmark.replace('-', ' ')} of everything",
        benchmark_version="1.0",
        benchmark_digest=digest([benchmark, number // 50_000]),
        kind=("environment", "dataset", "python")[number % 3],
        model=model,
        agent=("loop", "react", "plan")[number % 11 % 3],
        spec=RunSpec(BenchmarkRef("environment", benchmark), ModelSettings(model), name=name, tags=tags),
        name=name,
        attempt=1 + number % 7,
        status=status,
        counts=Counts(planned, completed=done),
        metrics=(result,),
        usage=Usage(
            _chance.randrange(10**6), _chance.randrange(10**5), 0, 0, _chance.random() if number % 4 else None, 20
        ),
        created_at=created,
        started_at=created + 1,
        ended_at=None if status in {RunStatus.PENDING, RunStatus.RUNNING} else created + _chance.expovariate(0.01),
        tags=tags,
        info={"metrics": [metric], "about": _ABOUT},
        provenance={"command": ["mesocosm", "run", "local", benchmark, "--model", model], "host": "h" * 200},
    )


def _episode(number: int) -> Episode:
    seconds, tokens = _chance.expovariate(0.2), _chance.randrange(100, 4_000)
    status, failure, score = EpisodeStatus.COMPLETED, None, Score("accuracy", round(_chance.random(), 4))
    if number % 97 == 5:
        status = EpisodeStatus.FAILED
        cause = Cause.ENVIRONMENT_UNREACHABLE if number % 9_700 == 5 else Cause.MODEL_INVALID
        failure = Failure(cause, Boundary.MODEL, f"the request timed out after {number % 60} s")
        score = Score("accuracy", None, missing=cause)
    elif number % 50 == 3:
        status = EpisodeStatus.TRUNCATED
        score = Score("accuracy", None, worst=True) if number % 1_000 == 3 else score
    given, right = _chance.randrange(100), number % 100
    wrong = score.value is not None and score.value <= 0.5
    return Episode(
        id=f"019f{number:08x}"[:8] + f"-{number % 65536:04x}-7000-9000-{number:012x}",
        run_id=LARGE,
        task_digest=digest({"seed": number}),
        task_id=f"seed {number}",
        seed=number,
        index=number,
        status=status,
        started_at=1.8e9 + number * 0.05,
        ended_at=1.8e9 + number * 0.05 + seconds,
        steps=number % 13,
        total_reward=score.value or 0.0,
        terminal_info={"correct": bool(number % 3), "answer": f"answer {number % 100}"},
        labels={"level": str(number % 7)},
        input=_QUESTION.format(*(number + place for place in range(9))),
        target=str(right),
        reference=f"{right} apples are left, because {right} is what remains. " * 5,
        answer=str(given),
        why=f"It calculates {given} × 2 where {right} × 3 is meant" if wrong else "",
        mistake=_MISTAKES[int(_chance.paretovariate(0.8)) % 12] if wrong else "",
        behaviour="cut_off" if wrong and number % 20 == 1 else "",
        failure=failure,
        usage=Usage(tokens, tokens // 7, 0, 0, tokens / 1e6, 3),
        events=0,
        scores=(score,),
    )


def _long_entries(run_id: str) -> Iterator[Entry]:
    """Yield the chunks of an episode of many steps with six events each, as the recorder cuts them."""
    steps = EVENTS // 6
    episode = Episode(
        id=LONG,
        run_id=run_id,
        task_digest=digest("long"),
        task_id="long",
        status=EpisodeStatus.COMPLETED,
        started_at=1.8e9,
        ended_at=1.8e9 + steps,
        steps=steps - 1,
        events=EVENTS,
        scores=(Score("accuracy", 1.0),),
    )
    lines: list[bytes] = []
    sequence, first, first_step, size = 0, 0, 0, 0
    for step in range(steps):
        for event in _step(step):
            lines.append(_encode(event))
            size += len(lines[-1]) + 1
            if size >= 64 * 1024 or len(lines) >= 128:
                chunk = Chunk(sequence, first, event.seq, first_step, step, b"\n".join(lines) + b"\n")
                yield Entry(episode, [chunk])
                lines, size, sequence, first, first_step = [], 0, sequence + 1, event.seq + 1, step
    if lines:
        yield Entry(episode, [Chunk(sequence, first, EVENTS - 1, first_step, steps - 1, b"\n".join(lines) + b"\n")])


def _step(step: int) -> list[Event]:
    seen = {"board": [[_chance.randrange(9) for _ in range(5)] for _ in range(5)], "note": f'they say "{step}"\n'}
    if step == 40_000:
        seen["note"] = "the needle in the haystack"
    if step % 9_000 == 8_999:
        seen["note"] = "Größe und Maß"
    recent = [max(0, 2 * step - 20), 2 * step + 1]
    calls = [[0, 1], recent] if recent[0] > 1 else [[0, recent[1]]]
    payloads = (
        (Kind.OBSERVATION, {"data": seen}),
        (
            Kind.MESSAGE,
            {"index": 2 * step, "role": "user", "content": f"[Step {step}]\n{msgspec.json.encode(seen).decode()}"},
        ),
        (Kind.MESSAGE, {"index": 2 * step + 1, "role": "assistant", "content": f"I think that {step} is right. " * 3}),
        (Kind.MODEL_CALL, {"model": "provider-1/model-1", "messages": calls, "text": f"move {step}", "latency_s": 0.2}),
        (Kind.ACTION, {"action": f"move {step % 25}"}),
        (Kind.STEP_RESULT, {"reward": 0.0, "terminated": False, "truncated": False, "info": {}}),
    )
    return [
        Event(6 * step + place, step, 1.8e9 + step, kind, payload) for place, (kind, payload) in enumerate(payloads)
    ]
