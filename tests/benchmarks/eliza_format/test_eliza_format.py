"""The benchmark eliza-format: notations, verdicts, records of a file, and answers that must earn nothing."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mesocosm.benchmarks.builtin.eliza_format.benchmark import ElizaFormat
from mesocosm.benchmarks.builtin.eliza_format.bucket import BUCKETS
from mesocosm.benchmarks.builtin.eliza_format.generator import generated
from mesocosm.benchmarks.builtin.eliza_format.grading import judge
from mesocosm.benchmarks.builtin.eliza_format.notation import Notation, NotationError, read, write
from mesocosm.benchmarks.builtin.eliza_format.prompt import best_answer
from mesocosm.benchmarks.builtin.eliza_format.record import FormatRecord
from mesocosm.benchmarks.catalogue import read_catalogue
from mesocosm.benchmarks.opening import open_benchmark, reference
from mesocosm.benchmarks.parameters import settle
from mesocosm.core.episode import Episode
from mesocosm.core.failure import InvalidInput, UsageError
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import AgentSettings, Run, RunSpec, Selection
from mesocosm.core.task import Task
from mesocosm.engine import session
from mesocosm.store import open_store

NOTATIONS: tuple[Notation, ...] = ("json", "toon")


def opened(**parameters: Any) -> ElizaFormat:
    known = read_catalogue().find("eliza_format")
    (settings,) = settle([known.descriptor], parameters, [known.descriptor])
    benchmark = open_benchmark(reference(known, settings.parameters))
    assert isinstance(benchmark, ElizaFormat)
    return benchmark


async def played(place: Path, model: str, **parameters: Any) -> Run:
    known = read_catalogue().find("eliza-format")
    (settings,) = settle([known.descriptor], {"max_per_bucket": 12, **parameters}, [known.descriptor])
    store = open_store(place / "results.sqlite")
    spec = RunSpec(reference(known, settings.parameters), ModelSettings(model), AgentSettings("chat"), Selection())
    run = await session.run(spec, store)
    store.close()
    return run


def values(run: Run) -> dict[str, float | None]:
    return {metric.name: metric.value for metric in run.metrics}


async def scores(benchmark: ElizaFormat, task: Task, answer: Any) -> dict[str, float | None]:
    episode = Episode("e", "r", task.digest(), task.id, terminal_info={"answer": answer})
    return {score.name: score.value for score in await benchmark.grade(task, episode)}


class TestNotation:
    @pytest.mark.parametrize("notation", NOTATIONS)
    @pytest.mark.parametrize(
        "value",
        [
            {"a": "plain words", "b": ["one", "two"]},
            {"a": 'commas, "quotes": and \\ marks', "b": []},
            {"a": "true", "b": ["1", "null", "a, b", " padded "]},
            {"a": "two\nlines", "b": ["-", "[x]"]},
            {"a": "ä–ö", "b": ["日本"]},
        ],
    )
    def test_what_is_written_is_read_as_the_same(self, notation: Notation, value: dict[str, Any]) -> None:
        assert read(write(value, notation), notation) == value

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("a: 1", {"a": 1.0}),
            ("a: true\nb: null", {"a": True, "b": None}),
            ("a: he said: hi", {"a": "he said: hi"}),
            ("a[2]:\n  - one\n  - two, three", {"a": ["one", "two, three"]}),
            ("a[0]:\nb: x", {"a": [], "b": "x"}),
            ('"a b": x', {"a b": "x"}),
            ("```toon\na: x\n```", {"a": "x"}),
            ("\n a: x".strip() + "\n\nb: y\n", {"a": "x", "b": "y"}),
        ],
    )
    def test_toon_in_its_other_spellings(self, text: str, value: dict[str, Any]) -> None:
        assert read(text, "toon") == value

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("", "empty"),
            ("Sure! {}", "not JSON"),
            ('{"a": 1} I hope it helps', "not JSON"),
            ("[]", "no object"),
            ('"a"', "no object"),
            ('{"a": 1, "a": 2}', "twice"),
            ('{"a": NaN}', "NaN"),
            ("{'a': 1}", "not JSON"),
            ('{"a": 1,}', "not JSON"),
            ('{"a": 1}{"a": 1}', "not JSON"),
            ("[" * 15_000, "not JSON"),
            ("x" * 30_000, "longer than"),
            ("```\n{}\n```\n```\n{}\n```", "not JSON"),
        ],
    )
    def test_what_is_no_json_object_is_refused(self, text: str, reason: str) -> None:
        with pytest.raises(NotationError, match=reason):
            read(text, "json")

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            ("", "empty"),
            ("a", "no `key: value`"),
            ("Here it is:\na: x", "no `key: value`"),
            ("a:", "no value"),
            ("a:x", "no value"),
            ("a: x\na: y", "twice"),
            ("a[3]: x,y", "has 2 items and declares 3"),
            ("a[1]:\n  - x\n  - y", "has 2 items|no `key"),
            ('a: "open', "not closed"),
            ('a[1]: x"y', "commas"),
            (f'a[2]: x, {" " * 9000}x"y', "commas"),
            (f'a[1]: x{" " * 19000}"', "commas"),
            ('{"a": "x"}', "no `key: value`"),
            ("  a: x\n    b: y", "no `key: value`"),
        ],
    )
    def test_what_is_no_flat_toon_is_refused(self, text: str, reason: str) -> None:
        with pytest.raises(NotationError, match=reason):
            read(text, "toon")


class TestVerdicts:
    def reply(self, **changes: Any) -> tuple[float, bool]:
        answer = {"ref": "ab", "thought": "It says so.", "text": "It is closed on Friday.", **changes}
        kept = {name: value for name, value in answer.items() if value is not ...}
        expected = {"contains": ["Friday"], "excludes": ["Monday", "Sunday"]}
        verdict = judge("reply", json.dumps(kept), expected, "ab", "json")
        return verdict.score, verdict.format_ok

    def test_right_form_and_right_content_earn_everything(self) -> None:
        assert self.reply() == (1.0, True)

    @pytest.mark.parametrize("text", ["It is closed on Monday.", "Friday or Monday", "fridays", "I do not know", "Fri"])
    def test_right_form_and_wrong_content_earn_half(self, text: str) -> None:
        assert self.reply(text=text) == (0.5, True)

    @pytest.mark.parametrize(
        "changes",
        [
            {"ref": "ba"},
            {"ref": ...},
            {"ref": ["ab"]},
            {"thought": ...},
            {"thought": ""},
            {"thought": 3},
            {"text": "Friday " * 100},
            {"text": ["Friday"]},
            {"text": {"Friday": 1}},
            {"extra": "Friday"},
        ],
    )
    def test_right_content_in_a_wrong_form_earns_nothing(self, changes: dict[str, Any]) -> None:
        assert self.reply(**changes) == (0.0, False)

    @pytest.mark.parametrize(
        ("actions", "score"),
        [
            (["A", "B"], 1.0),
            (["a", "b"], 1.0),
            (["B", "A"], 0.5),
            (["A", "B", "C"], 0.5),
            (["A", "B", "B"], 0.5),
            (["A"], 0.5),
            ([], 0.5),
            (["A B"], 0.5),
            ("A, B", 0.0),
            (["A", 1], 0.0),
            ([["A", "B"]], 0.0),
        ],
    )
    def test_actions_must_be_those_in_that_order(self, actions: Any, score: float) -> None:
        answer = {"thought": "x", "actions": actions, "text": "Done."}
        assert judge("message_handler", json.dumps(answer), {"actions": ["A", "B"]}, "", "json").score == score

    @pytest.mark.parametrize(
        ("action", "score"), [("STOP", 1.0), ("IGNORE", 0.5), ("stop", 0.0), ("STOP|IGNORE", 0.0), (None, 0.0)]
    )
    def test_a_decision_is_one_of_three(self, action: Any, score: float) -> None:
        answer = {"thought": "x", "action": action}
        assert judge("should_respond", json.dumps(answer), {"action": "STOP"}, "", "json").score == score


class TestQuestions:
    @pytest.mark.parametrize("notation", NOTATIONS)
    @pytest.mark.parametrize("bucket", BUCKETS)
    def test_the_best_answer_of_each_earns_everything(self, bucket: str, notation: Notation) -> None:
        for number in range(60):
            record = generated(bucket, number, 7)
            answer = best_answer(record, notation)
            assert judge(bucket, answer, record.expected, record.reference, notation).score == 1.0, record

    def test_equal_seeds_give_equal_questions_and_another_one_others(self) -> None:
        one, again, other = (opened(seed=seed).loaded for seed in (1, 1, 2))
        digests = [[task.digest() for task in loaded.tasks] for loaded in (one, again, other)]
        assert digests[0] == digests[1]
        assert not set(digests[0]) & set(digests[2])
        assert one.content == again.content != other.content

    def test_all_questions_are_different_and_as_many_in_each_bucket(self) -> None:
        tasks = opened().loaded.tasks
        assert len({task.digest() for task in tasks}) == len({task.input["messages"][0]["content"] for task in tasks})
        assert [sum(task.metadata["category"] == name for task in tasks) for name in BUCKETS] == [50] * 4

    def test_more_questions_keep_the_first_ones(self) -> None:
        few, many = (opened(max_per_bucket=count).loaded.tasks for count in (3, 9))
        assert {task.digest() for task in few} < {task.digest() for task in many}

    def test_the_number_of_a_question_does_not_tell_the_decision(self) -> None:
        right = [
            [generated("should_respond", number, seed).expected["action"] for number in range(0, 60, 3)]
            for seed in range(3)
        ]
        assert all(len(set(actions)) == 3 for actions in right)
        assert right[0] != right[1] != right[2]

    def test_the_decisions_are_balanced_and_lists_have_one_to_three_actions(self) -> None:
        decisions = [generated("should_respond", number, 0).expected["action"] for number in range(60)]
        assert {decisions.count(action) for action in ("RESPOND", "IGNORE", "STOP")} == {20}
        lengths = {len(generated("message_handler", number, 0).expected["actions"]) for number in range(60)}
        assert lengths == {1, 2, 3}

    def test_what_the_answer_is_stands_nowhere_in_what_the_agent_sees_of_a_task(self) -> None:
        for task in opened(max_per_bucket=20).loaded.tasks:
            assert set(task.input) == {"messages", "system"}
            assert task.metadata == {"row": task.row, "category": task.target["bucket"]}

    def test_a_draw_is_even_over_the_buckets(self) -> None:
        drawn = [task.metadata["category"] for task in opened().tasks(Selection(count=12))]
        assert [drawn.count(name) for name in BUCKETS] == [3] * 4

    def test_seed_and_notation_are_identity_and_the_number_of_questions_is_not(self) -> None:
        def identity(**parameters: Any) -> str:
            return opened(**parameters).info.digest

        assert identity() == identity(max_per_bucket=3) == identity(max_examples=5) == identity(format="json")
        assert len({identity(), identity(seed=1), identity(format="toon")}) == 3


FILE = [
    {"bucket": "should_respond", "prompt": "Bot, hi!", "expected": {"action": "RESPOND"}, "reference": "r1"},
    {"bucket": "message_handler", "prompt": "Do A", "expected": {"actions": ["A"]}, "id": "mine"},
    {"bucket": "reply", "prompt": "When?", "expected": {"contains": ["noon"]}},
    {
        "bucket": "claude_distill",
        "prompt": "…",
        "expected": {"owner": "Ada", "task": "sweep", "due": "Monday", "priority": "low"},
    },
]


def written(place: Path, rows: list[dict[str, Any]]) -> str:
    file = place / "records.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(file)


class TestFiles:
    def test_own_records_are_asked_in_the_order_of_the_buckets(self, tmp_path: Path) -> None:
        tasks = opened(test_file=written(tmp_path, FILE)).loaded.tasks
        assert [task.id for task in tasks] == ["should_respond_0", "mine", "reply_0", "claude_distill_0"]

    def test_a_reference_is_asked_for_only_where_there_is_one(self, tmp_path: Path) -> None:
        with_one, without, *_ = opened(test_file=written(tmp_path, FILE)).loaded.tasks
        assert "- ref:" in with_one.input["system"]
        assert "- ref:" not in without.input["system"]

    def test_only_buckets_that_are_there_have_a_metric(self, tmp_path: Path) -> None:
        names = [metric.name for metric in opened(test_file=written(tmp_path, FILE[:2])).info.metrics]
        assert names == ["score", "format_ok", "content_ok", "score_should_respond", "score_message_handler"]

    def test_another_file_is_another_benchmark(self, tmp_path: Path) -> None:
        one = opened(test_file=written(tmp_path, FILE)).info.digest
        assert one != opened(test_file=written(tmp_path, FILE[:3])).info.digest

    @pytest.mark.parametrize("model", ["oracle", "empty"])
    async def test_they_can_be_played(self, tmp_path: Path, model: str) -> None:
        run = await played(tmp_path, f"builtin/{model}", test_file=written(tmp_path, FILE))
        assert values(run)["score"] == (1.0 if model == "oracle" else 0.0)

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"bucket": "chat"}, "chat"),
            ({"prompt": 3}, "prompt"),
            ({"expected": {}}, "exactly the fields action"),
            ({"expected": {"action": "SHOUT"}}, "none of RESPOND"),
            ({"bucket": "reply", "expected": {"contains": []}}, "every reply would be right"),
            ({"bucket": "reply", "expected": {"includes": ["x"]}}, "includes"),
            ({"bucket": "message_handler", "expected": {"actions": "A"}}, "not a list"),
            ({"surprise": 1}, "surprise"),
        ],
    )
    def test_unusable_records_are_named(self, tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
        file = written(tmp_path, [*FILE, {**FILE[0], **changes}])
        with pytest.raises(InvalidInput, match=f"(?s)record 5.*{reason}"):
            _ = opened(test_file=file).loaded

    def test_an_empty_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises((InvalidInput, UsageError), match="no rows"):
            _ = opened(test_file=written(tmp_path, [])).loaded


class TestFloorAndCeiling:
    @pytest.mark.parametrize("notation", NOTATIONS)
    @pytest.mark.parametrize(("model", "score"), [("oracle", 1.0), ("random", 0.0), ("empty", 0.0)])
    async def test_models_that_are_built_in(self, tmp_path: Path, model: str, score: float, notation: Notation) -> None:
        assert set(values(await played(tmp_path, f"builtin/{model}", format=notation)).values()) == {score}

    async def test_an_error_of_the_model_stays_missing(self, tmp_path: Path) -> None:
        task = opened().loaded.tasks[0]
        record = msgspec.convert(task.target, FormatRecord)
        recorded = tmp_path / "said.jsonl"
        recorded.write_text(json.dumps({"id": task.id, "completion": best_answer(record, "json")}))
        run = await played(tmp_path, f"replay/{recorded}", max_per_bucket=2)
        (metric,) = [metric for metric in run.metrics if metric.primary]
        assert (metric.value, metric.n_planned, metric.n_scored, metric.missing) == (1.0, 8, 1, {"model_rejected": 7})

    SPAM: tuple[Callable[[Task], Any], ...] = (
        lambda task: None,
        lambda task: "",
        lambda task: "I'm sorry, I cannot help with that.",
        lambda task: task.input["messages"][0]["content"],
        lambda task: task.input["system"] + task.input["messages"][0]["content"],
        lambda task: "RESPOND IGNORE STOP",
        lambda task: json.dumps({"ref": "x", "thought": "x", "action": "RESPOND"}),
        lambda task: json.dumps({"ref": "x", "thought": "x", "actions": ["SEND_MAIL"], "text": "Done."}),
        lambda task: json.dumps([{"action": action} for action in ("RESPOND", "IGNORE", "STOP")]),
        lambda task: json.dumps({"text": task.input["messages"][0]["content"]}),
        lambda task: "{}",
        lambda task: json.dumps(task.input),
        lambda task: "Friday " * 30_000,
        lambda task: [1, 2],
        lambda task: {"text": 3},
        lambda task: f"Sure! {best_answer(msgspec.convert(task.target, FormatRecord), 'json')}",
        lambda task: best_answer(msgspec.convert(task.target, FormatRecord), "json") * 2,
        lambda task: best_answer(msgspec.convert(task.target, FormatRecord), "json") + "x" * 20_000,
    )

    @pytest.mark.parametrize("place", range(len(SPAM)))
    async def test_answers_without_an_answer_earn_nothing(self, place: int) -> None:
        benchmark = opened(max_per_bucket=6)
        for task in benchmark.loaded.tasks:
            assert set((await scores(benchmark, task, self.SPAM[place](task))).values()) == {0.0}

    async def test_the_right_answer_to_another_question_earns_nothing(self) -> None:
        benchmark = opened(max_per_bucket=6)
        tasks = benchmark.loaded.tasks
        for task, other in zip(tasks, [*tasks[1:], tasks[0]], strict=True):
            assert (await scores(benchmark, task, benchmark.best(other)))["score"] == 0.0

    async def test_every_action_at_once_and_every_day_at_once_earn_the_form_alone(self) -> None:
        benchmark = opened(max_per_bucket=6)
        for task in benchmark.loaded.tasks:
            answer = json.loads(benchmark.best(task))
            if task.metadata["category"] == "message_handler":
                lines = task.input["messages"][0]["content"].splitlines()
                answer["actions"] = [line[2:].split(":")[0] for line in lines if line.startswith("- ")]
            elif task.metadata["category"] == "reply":
                answer["text"] = " ".join([*task.target["expected"]["contains"], *task.target["expected"]["excludes"]])
            else:
                continue
            assert await scores(benchmark, task, json.dumps(answer)) == {
                "score": 0.5,
                "format_ok": 1.0,
                "content_ok": 0.0,
                f"score_{task.metadata['category']}": 0.5,
            }
