"""The benchmark context-bench: texts, questions, grading, and what earns nothing."""

import re
from collections import Counter
from random import Random
from typing import Any

import pytest

from mesocosm.benchmarks.builtin.context_bench.benchmark import ContextBench
from mesocosm.benchmarks.builtin.context_bench.context import POSITIONS, Recipe, prompt
from mesocosm.benchmarks.builtin.context_bench.grading import right
from mesocosm.benchmarks.builtin.context_bench.puzzle import FAMILIES, HOLDINGS, TRADES, code
from mesocosm.benchmarks.catalogue import read_catalogue
from mesocosm.benchmarks.opening import open_benchmark, reference
from mesocosm.benchmarks.parameters import settle
from mesocosm.core.episode import Episode
from mesocosm.core.failure import InvalidInput, UsageError
from mesocosm.core.ids import digest
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import AgentSettings, Run, RunSpec, Selection
from mesocosm.engine import session
from mesocosm.store import Store, open_store

CODE = re.compile(r"\b[A-Z]{4}-\d{4}\b")
FILLER = {"the", "a", "an", "of", "for", "by", "is", "in", "at", "who", "and", "with", "which", "what", "does", "go"}


def opened(**parameters: Any) -> ContextBench:
    known = read_catalogue().find("context_bench")
    (settings,) = settle([known.descriptor], parameters, [known.descriptor])
    benchmark = open_benchmark(reference(known, settings.parameters))
    assert isinstance(benchmark, ContextBench)
    return benchmark


async def played(tmp_path: Any, model: str, **parameters: Any) -> tuple[Run, Store]:
    known = read_catalogue().find("context-bench")
    (settings,) = settle([known.descriptor], parameters, [known.descriptor])
    store = open_store(tmp_path / "results.sqlite")
    spec = RunSpec(
        reference(known, settings.parameters), ModelSettings(model), AgentSettings("chat"), Selection(None, None)
    )
    return await session.run(spec, store), store


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("tokens", [512, 1024, 8192])
def test_a_text_has_the_length_that_was_asked_for(family: str, tokens: int) -> None:
    text = Recipe(family, tokens, "middle", 0, 1).context()
    assert tokens * 0.9 <= len(text) / 4 <= tokens * 1.02


@pytest.mark.parametrize("position", POSITIONS)
def test_the_fact_stands_where_it_was_asked_for(position: str) -> None:
    recipe = Recipe("needle", 4096, position, 0, 3)
    text = recipe.context()
    assert abs(text.index(recipe.puzzle().answer) / len(text) - POSITIONS[position]) < 0.06


@pytest.mark.parametrize("family", FAMILIES)
def test_every_text_holds_the_facts_and_several_other_codes(family: str) -> None:
    recipe = Recipe(family, 1024, "random", 5, 2)
    text, puzzle = recipe.context(), recipe.puzzle()
    assert all(text.count(fact) == 1 for fact in (*puzzle.facts, *puzzle.rivals, *puzzle.distractors))
    assert text.count(puzzle.answer) == 1
    assert len(set(CODE.findall(text))) >= 8


def test_hardly_a_sentence_of_a_long_text_occurs_twice() -> None:
    sentences = re.split(r"[.]\s+", Recipe("needle", 32_768, "middle", 0, 0).context())
    assert len(set(sentences)) > 0.97 * len(sentences) > 1000


@pytest.mark.parametrize("trade", TRADES)
@pytest.mark.parametrize("holding", HOLDINGS)
def test_semantic_questions_share_no_word_with_their_fact(trade: tuple[str, str], holding: tuple[str, str]) -> None:
    fact = set(re.findall(r"[a-z]+", f"{trade[0]} {holding[0]}".lower().replace("{code}", "")))
    question = set(re.findall(r"[a-z]+", holding[1].format(who=trade[1]).lower()))
    assert fact & question <= FILLER


def test_the_links_of_a_chain_lie_apart_and_none_but_the_last_holds_the_answer() -> None:
    puzzle = Recipe("multi_hop_3", 1024, "end", 0, 0).puzzle()
    assert len(puzzle.facts) == 3
    assert [puzzle.answer in fact for fact in puzzle.facts] == [False, False, True]
    assert puzzle.answer not in puzzle.question


def test_the_answer_is_nowhere_but_in_the_text() -> None:
    benchmark = opened(quick=True)
    for task in benchmark.loaded.tasks:
        assert str(task.target) not in str([task.id, task.input, task.metadata])
        assert benchmark.shown(task).count(str(task.target)) == 1


def test_equal_seeds_give_equal_texts_and_another_seed_others() -> None:
    shown = [
        [opened(quick=True, seed=seed).shown(task) for task in opened(quick=True, seed=seed).loaded.tasks]
        for seed in (1, 1, 2)
    ]
    assert shown[0] == shown[1]
    assert not set(shown[0]) & set(shown[2])


def test_the_generator_is_what_version_1_has_been() -> None:
    texts = [prompt(Recipe(family, 512, "late", 1, 9)) for family in FAMILIES]
    assert digest(texts) == "4f687cc550552c83a97028d961feea54", (
        "another generator is another benchmark: raise the version in benchmark.toml"
    )


def test_parameters_choose_what_is_asked() -> None:
    benchmark = opened(context_lengths=[512, 2048], positions="start,end", tasks_per_position=3, families=["semantic"])
    assert len(benchmark.loaded.tasks) == 12
    assert {task.metadata["family"] for task in benchmark.loaded.tasks} == {"semantic"}


def test_quick_is_twelve_needles_and_what_is_set_goes_over_it() -> None:
    assert len(opened(quick=True).loaded.tasks) == 12
    assert len(opened(quick=True, context_lengths=[1024], positions=["middle"], tasks_per_position=1).loaded.tasks) == 1


def test_the_default_is_enough_to_mean_something() -> None:
    assert len(opened().loaded.tasks) == 120


@pytest.mark.parametrize("lengths", [[10], ["1024"], [True], [1e3], []])
def test_lengths_that_make_no_sense_are_refused(lengths: list[Any]) -> None:
    with pytest.raises(UsageError, match="context_lengths"):
        opened(context_lengths=lengths)


def test_an_unknown_position_is_refused() -> None:
    with pytest.raises(InvalidInput, match="positions"):
        opened(positions=["centre"])


@pytest.mark.parametrize(
    "reply",
    ["QRST-1234", "qrst-1234", "QRST1234", "The answer is QRST-1234.", "**QRST-1234**", "Code: `QRST-1234`",
     "The boathouse in Corvane opens with one code.\nAnswer: QRST-1234", "“QRST-1234”", "The access code is QRST-1234"],
)  # fmt: skip
def test_a_reply_that_is_the_code_counts(reply: str) -> None:
    assert right(reply, "QRST-1234") == (True, "")


@pytest.mark.parametrize(
    "reply",
    ["", "I cannot help with that.", "QRST-1235", "QRST-1234 or ABCD-1111", "ABCD-1111\nQRST-1234", "QRST 12 34",
     "QRST-1234 and more words", "x" * 700 + "\nQRST-1234", "QRST-12345", "[1, 2]", "code code code code", "{}",
     "QRST-1234\nis somewhere in the text", "not QRST-1234"],
)  # fmt: skip
def test_any_other_reply_does_not(reply: str) -> None:
    correct, reason = right(reply, "QRST-1234")
    assert not correct
    assert reason


@pytest.mark.parametrize("family", FAMILIES)
def test_repeating_the_text_and_naming_every_code_earn_nothing(family: str) -> None:
    recipe = Recipe(family, 512, "end", 0, 4)
    whole, answer = prompt(recipe), recipe.puzzle().answer
    codes = CODE.findall(whole)
    last = [*(found for found in codes if found != answer), answer]
    for reply in (whole, recipe.context(), " ".join(codes), "\n".join(last), ", ".join(last), whole + "\n" + answer):
        assert not right(reply, answer)[0]


def test_the_place_of_a_code_does_not_tell_whether_it_is_right() -> None:
    benchmark = opened(context_lengths=[512], tasks_per_position=10)
    tasks = benchmark.loaded.tasks
    codes = [CODE.findall(benchmark.shown(task)) for task in tasks]
    for pick in (0, -1, 3):
        hits = sum(found[pick] == task.target for task, found in zip(tasks, codes, strict=True))
        assert hits / len(tasks) < 0.25, pick


@pytest.mark.parametrize(
    ("family", "form"),
    [("needle", r"code of the (.+) in (.+) is"), ("semantic", r"(.+), who (.+), (\w+ \w+) .*")],
)
def test_no_code_can_be_told_from_the_others_without_the_question(family: str, form: str) -> None:
    for number in range(10):
        puzzle = Recipe(family, 512, "middle", number, 0).puzzle()
        parts = [found.groups() for fact in (puzzle.facts[-1], *puzzle.rivals) if (found := re.search(form, fact))]
        often = Counter(part for fact in parts for part in fact)
        assert len(parts) == 1 + len(puzzle.rivals)
        assert len({tuple(often[part] for part in fact) for fact in parts}) == 1


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("position", [*POSITIONS, "random"])
def test_who_looks_where_the_answer_stands_finds_several_codes(family: str, position: str) -> None:
    hits: Counter[str] = Counter()
    for number in range(150):
        recipe = Recipe(family, 512, position, number, 1)
        text, answer = recipe.context(), recipe.puzzle().answer
        places = {found.group(): found.start() for found in CODE.finditer(text)}
        depth = POSITIONS.get(position, 0.5) * len(text)
        crowd = {code: sorted(abs(place - other) for other in places.values()) for code, place in places.items()}
        picks = {
            "nearest": min(places, key=lambda code: abs(places[code] - depth)),
            "first": next(iter(places)),
            "last": list(places)[-1],
            "amid a crowd": min(places, key=lambda code: crowd[code][4]),
        }
        hits.update(name for name, code in picks.items() if code == answer)
    assert max(hits.values(), default=0) / 150 < 0.34


def test_huge_replies_are_refused_at_once() -> None:
    assert not right("QRST-1234\n" * 2_000_000, "QRST-1234")[0]


def test_codes_have_no_repeats_among_thousands() -> None:
    rng = Random(0)
    assert len({code(rng) for _ in range(5000)}) == 5000


async def test_the_oracle_reaches_the_ceiling_in_every_slice(tmp_path: Any) -> None:
    run, store = await played(tmp_path, "builtin/oracle", context_lengths=[512, 600], tasks_per_position=1)
    store.close()
    metrics = {metric.name: metric for metric in run.metrics}
    assert metrics["accuracy"].value == 1.0
    assert metrics["accuracy"].n_scored == 40
    assert metrics["accuracy_middle"].n_planned == metrics["accuracy_middle"].n_scored == 8
    assert metrics["accuracy_512"].value == metrics["accuracy_multi_hop_3"].value == 1.0
    assert metrics["lost_in_the_middle"].value == pytest.approx(0.0)


@pytest.mark.parametrize("model", ["builtin/empty", "builtin/random"])
async def test_saying_nothing_and_saying_anything_earn_nothing(tmp_path: Any, model: str) -> None:
    run, store = await played(tmp_path, model, quick=True)
    store.close()
    assert run.metrics[0].value == 0.0


async def test_what_is_lost_in_the_middle_is_the_difference_of_edges_and_middle() -> None:
    benchmark = opened(context_lengths=[512], families=["needle"])
    values = []
    for task in benchmark.loaded.tasks:
        reply = "" if task.metadata["position"] == "middle" else task.target
        episode = Episode("e", "r", task.digest(), task.id, terminal_info={"answer": reply})
        scores = {score.name: score.value for score in await benchmark.grade(task, episode)}
        if "lost_in_the_middle" in scores:
            values.append(scores["lost_in_the_middle"] or 0.0)
        assert ("accuracy_middle" in scores) == (task.metadata["position"] == "middle")
    assert sum(values) / len(values) == pytest.approx(1.0)
