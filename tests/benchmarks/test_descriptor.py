"""What `benchmark.toml` may say, and how it is told what is wrong with it."""

from pathlib import Path

import pytest

from mesocosm.benchmarks.catalogue import BUILTIN
from mesocosm.benchmarks.descriptor import Descriptor, read_descriptor
from mesocosm.core.failure import InvalidInput, UsageError

HEAD = """
id = "toy"
title = "T"
description = "D"
source = "S"
licence = "L"
version = "1"
"""
FOLDERS = sorted(path.parent for path in BUILTIN.glob("*/benchmark.toml"))


def read(folder: Path, text: str) -> Descriptor:
    (folder / "benchmark.toml").write_text(HEAD + text)
    return read_descriptor(folder)


def problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        read(folder, text)
    assert caught.value.subject == str(folder / "benchmark.toml")
    return [str(problem) for problem in caught.value.problems]


def test_the_least_descriptor_has_one_score_between_0_and_1(tmp_path: Path) -> None:
    found = read(tmp_path, "")
    assert (found.score.field, found.score.unit, found.score.low, found.score.high) == ("score", "ratio", 0.0, 1.0)
    assert (found.kind, found.agent, found.names) == ("environment", "chat", ("toy",))


def test_everything_that_is_said_is_kept(tmp_path: Path) -> None:
    text = """
    aliases = ["TOY"]
    sampling = "limit"
    [score]
    field = "usd"
    unit = "usd"
    low = 0
    higher_is_better = false
    [[metric]]
    name = "hard"
    where = { level = "3" }
    [[requirement]]
    kind = "program"
    name = "git"
    [parameters.limit]
    type = "integer"
    help = "h"
    [[reference]]
    label = "somebody"
    value = 0.5
    split = "test"
    source = "a paper"
    published = 2024-05-01
    """
    found = read(tmp_path, text)
    assert found.metric[0].where == {"level": "3"}
    card = found.card()
    assert card["unit"] == "usd"
    assert card["reference"][0]["published"] == "2024-05-01"
    assert card["aliases"] == ["TOY"]


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        ("colour = 'red'", "colour", "not permitted"),
        ("[score]\nfield = ''", "score.field", "at least 1 character"),
        ("kind = 'game'", "kind", "'environment', 'rollout' or 'command'"),
        ("kind = 'command'", "", "belong together"),
        ("[command]\nargv = ['x']", "", "belong together"),
        ("sampling = 'limit'", "", "not one of the parameters"),
        ("[parameters.a]\ntype = 'colour'\nhelp = 'h'", "parameters.a.type", "'integer'"),
        ("[parameters.a]\ntype = 'integer'", "parameters.a.help", "required"),
        ("[parameters.a]\ntype = 'integer'\nhelp = 'h'\ndefault = 'x'", "parameters.a", "must be a whole number"),
        ("[parameters.'a b']\ntype = 'integer'\nhelp = 'h'", "parameters.a b", "pattern"),
        ("[[reference]]\nlabel = 'x'\nsource = 's'\nvalue = 1", "reference.0.split", "required"),
        ("[[metric]]\nname = 'x'\naggregation = 'mode'", "metric.0.aggregation", "'mean'"),
        ("[[requirement]]\nkind = 'program'", "requirement.0", "needs a name"),
        ("[model]\nmax_tokens = 0", "model.max_tokens", "greater than or equal to 1"),
    ],
)
def test_every_problem_is_told_with_its_place(tmp_path: Path, text: str, place: str, said: str) -> None:
    (problem,) = problems(tmp_path, text)
    assert problem.startswith(f"{place}" if place else "Value error")
    assert said in problem


@pytest.mark.parametrize("alias", ["B", "a_b"])
def test_two_parameters_may_not_share_a_name(tmp_path: Path, alias: str) -> None:
    text = f"""
    [parameters.a-b]
    type = "integer"
    help = "h"
    [parameters.b]
    type = "integer"
    help = "h"
    [parameters.c]
    type = "integer"
    help = "h"
    aliases = ["{alias}"]
    """
    assert "two parameters are called" in problems(tmp_path, text)[0]


def test_a_descriptor_with_several_problems_tells_them_all(tmp_path: Path) -> None:
    assert len(problems(tmp_path, "colour = 1\nkind = 'game'\n[score]\nfield = ''")) == 3


def test_a_folder_without_a_descriptor_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=str(tmp_path)):
        read_descriptor(tmp_path)


@pytest.mark.parametrize("data", [b"id = ", b"\xff\xfe\x00", b"id = 'a'\nid = 'b'"])
def test_what_is_no_toml_is_said_so(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "benchmark.toml").write_bytes(data)
    with pytest.raises(InvalidInput, match="is not TOML"):
        read_descriptor(tmp_path)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_built_in_benchmark_says_what_it_is(folder: Path) -> None:
    found = read_descriptor(folder)
    assert found.id.replace("-", "_") == folder.name
    for text in (found.title, found.description, found.source, found.licence, found.version):
        assert text == text.strip() != ""
    assert all(parameter.help for parameter in found.parameters.values())
    assert all(reference.source and reference.split for reference in found.reference)
    names = [metric.name for metric in found.metric]
    assert len({found.score.field, *names}) == 1 + len(names)
