"""solana: the reward rule over recorded transactions, claims that nothing bears out, and a stand-in for the gym."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from mesocosm.benchmarks.builtin.solana import live
from mesocosm.benchmarks.builtin.solana.log import judged
from mesocosm.benchmarks.builtin.solana.reward import INSTRUCTIONS, MEMO, PROGRAMS, Unusable, base58, data_of, rewarded
from mesocosm.benchmarks.catalogue import read_catalogue
from mesocosm.benchmarks.opening import reference
from mesocosm.benchmarks.parameters import settle
from mesocosm.benchmarks.requirements import missing
from mesocosm.core.failure import Cause, Incompatible
from mesocosm.core.model import ModelSettings
from mesocosm.core.run import AgentSettings, Run, RunSpec
from mesocosm.engine import session
from mesocosm.store import Store, open_store

SYSTEM, TOKEN = "11111111111111111111111111111111", "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "store.sqlite")
    yield opened
    opened.close()


def did(*found: tuple[str, int], **more: Any) -> dict[str, Any]:
    return {"instructions": [{"programId": program, "data": [byte, 0, 0, 0, 7]} for program, byte in found], **more}


async def played(store: Store, output: Path | None = None, **parameters: Any) -> Run:
    known = read_catalogue().find("solana")
    (settings,) = settle([known.descriptor], parameters, [known.descriptor])
    ref = reference(known, settings.parameters, output)
    return await session.run(RunSpec(ref, ModelSettings("builtin/random"), AgentSettings("program")), store)


def values(run: Run) -> dict[str, float | None]:
    return {metric.name: metric.value for metric in run.metrics}


def written(folder: Path, document: Any, name: str = "log.json") -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return str(path)


def test_a_pair_counts_once_and_for_whoever_came_first() -> None:
    log = [
        did((SYSTEM, 0), (SYSTEM, 2), origin="template"),
        did((SYSTEM, 0), (TOKEN, 0), (TOKEN, 0)),
        did((TOKEN, 1), success=False),
        did((TOKEN, 2), err={"InstructionError": [0, "Custom"]}),
        did((SYSTEM, 2), (TOKEN, 3)),
    ]
    found = rewarded(log)
    assert (found.template, found.model, found.total) == (2, 2, 4)
    assert found.score == 4 / INSTRUCTIONS


def test_every_instruction_of_the_gym_earns_all_and_nothing_is_above_one() -> None:
    every = [did((program, byte)) for program in (*PROGRAMS, MEMO, "made up") for byte in range(256)]
    found = rewarded(every)
    assert (found.total, found.score) == (INSTRUCTIONS, 1.0)
    assert (found.gym, found.unknown) == (9 * 256, 9 * 256 - INSTRUCTIONS)


def said(program: str, data: Any, **more: Any) -> dict[str, Any]:
    return {"instructions": [{"programId": program, "data": data}], **more}


ATTACKS: dict[str, list[dict[str, Any]]] = {
    "memos of every first byte": [said(MEMO, [byte, 65]) for byte in range(256)],
    "memos in one transaction": [did(*((MEMO, byte) for byte in range(256)))],
    "memos as texts in base64": [
        said(MEMO, [base64.b64encode(bytes([byte])).decode(), "base64"]) for byte in range(256)
    ],
    "the older memo program": [said("Memo1UhkJRfHyvLMcVucJwxXeuD728EqVDDwQDxFMNo", [byte]) for byte in range(256)],
    "made-up programs": [did((f"Made{name}", byte)) for name in range(4) for byte in range(64)],
    "a program's name with white space": [did((f" {SYSTEM}", byte)) for byte in range(13)],
    "a program's name in other letters": [did((TOKEN.lower(), byte)) for byte in range(25)],
    "a name for an address": [did(("spl-token", byte)) for byte in range(25)],
    "an address of another chain": [did(("0x" + "0" * 40, byte)) for byte in range(25)],
    "numbers that no instruction has": [did((SYSTEM, byte), (TOKEN, byte)) for byte in range(45, 256)],
    "a number that is unused": [did(("ComputeBudget111111111111111111111111111111", 0))],
    "numbers that are too short": [said(SYSTEM, [byte]) for byte in range(13)],
    "numbers with something behind": [said(SYSTEM, [byte, 7, 0, 0]) for byte in range(13)],
    "failed by an error": [did((TOKEN, byte), err={"InstructionError": [0, "x"]}) for byte in range(25)],
    "failed by a status": [did((TOKEN, byte), status="failed") for byte in range(25)],
    "failed as validators say it": [did((TOKEN, byte), meta={"status": {"Err": "x"}}) for byte in range(25)],
    "success that is no yes": [did((TOKEN, byte), success="false") for byte in range(25)],
    "one instruction again and again": [did((TOKEN, 3)) for _ in range(500)],
    "one instruction with other data": [said(TOKEN, [3, byte]) for byte in range(256)],
}


@pytest.mark.parametrize("kind", ATTACKS)
def test_no_attack_earns_more_than_the_one_instruction_that_it_has(kind: str) -> None:
    assert rewarded(ATTACKS[kind]).total <= 1
    value = judged(ATTACKS[kind])[0].value
    assert value is not None
    assert value <= 1 / INSTRUCTIONS


def test_pairs_that_earn_nothing_are_told() -> None:
    assert "255 pairs earn nothing" in judged(ATTACKS["memos of every first byte"])[0].explanation


@pytest.mark.parametrize(
    ("instruction", "data"),
    [
        ({"data": [3, 1]}, b"\3\1"),
        ({"data": "3Bxs4h24hBtQy9rw"}, b"\2\0\0\0\xf0\x1d\x1f\0\0\0\0\0"),
        ({"data": "1"}, b"\0"),
        ({"data": ["Aw==", "base64"]}, b"\3"),
        ({"data": "0aff", "encoding": "hex"}, b"\x0a\xff"),
        ({"discriminator": 9}, b"\x09\0\0\0"),
        ({"discriminator": 3, "data": [3, 1]}, b"\3\1"),
        ({"data": ""}, b""),
        ({}, b""),
    ],
)
def test_the_data_of_every_spelling(instruction: dict[str, Any], data: bytes) -> None:
    assert data_of(instruction, "it") == data


@pytest.mark.parametrize(
    "instruction",
    [
        {"data": [256]},
        {"data": [True]},
        {"data": "0OIl"},
        {"data": 5},
        {"data": ["!", "base64"]},
        {"data": [4], "discriminator": 3},
        {"discriminator": -1},
    ],
)
def test_data_that_are_none_are_refused(instruction: dict[str, Any]) -> None:
    with pytest.raises(Unusable):
        data_of(instruction, "it")


def test_base58_keeps_leading_zeros() -> None:
    assert base58("112") == b"\x00\x00\x01"


def test_transactions_as_validators_tell_them_are_read() -> None:
    message = {"accountKeys": ["me", {"pubkey": TOKEN}], "instructions": [{"programIdIndex": 1, "data": "4"}]}
    told = [{"transaction": {"message": message}, "meta": {"err": None}}]
    failed = [{"transaction": {"message": message}, "meta": {"err": "x"}}]
    assert (rewarded(told).model, rewarded(failed).model) == (1, 0)


async def test_a_log_is_scored_with_its_points_told_apart(store: Store, tmp_path: Path) -> None:
    log = [did((SYSTEM, 0), phase="template"), did((SYSTEM, 1)), did((TOKEN, 1))]
    run = await played(store, log_path=written(tmp_path, log))
    assert values(run) == {
        "score": 3 / INSTRUCTIONS,
        "reward": 3.0,
        "template_reward": 1.0,
        "model_reward": 2.0,
        "gym_reward": 3.0,
    }


async def test_every_file_of_a_folder_is_a_run_of_its_own(store: Store, tmp_path: Path) -> None:
    written(tmp_path / "logs", [did((SYSTEM, 0))], "a.json")
    written(tmp_path / "logs", "\n".join(json.dumps(did((SYSTEM, byte))) for byte in range(3)), "b.jsonl")
    written(tmp_path / "logs", {"final_reward": 2, "programs_discovered": {MEMO: [1, 2]}}, "c_metrics.json")
    written(tmp_path / "logs", "{", "d.json")
    run = await played(store, log_path=str(tmp_path / "logs"))
    assert run.primary is not None
    assert run.primary.value == pytest.approx(5 / 3 / INSTRUCTIONS)
    assert (run.primary.n_scored, run.primary.missing) == (3, {"value_unusable": 1})


def test_metrics_of_the_gym_are_taken_where_all_they_say_agrees() -> None:
    document = {
        "final_reward": 3,
        "cumulative_rewards": [1, 3],
        "programs_discovered": {SYSTEM: [0, 2], TOKEN: [1]},
        "final_programs": 2,
    }
    reading, further = judged(document)
    assert (reading.value, [score.name for score in further]) == (3 / INSTRUCTIONS, ["reward", "gym_reward"])


@pytest.mark.parametrize(
    ("document", "cause"),
    [
        ({"final_reward": 300, "programs_discovered": {SYSTEM: [0]}}, Cause.UNVERIFIED),
        ({"final_reward": 9, "cumulative_rewards": [1, 2]}, Cause.UNVERIFIED),
        ({"final_reward": 365}, Cause.UNVERIFIED),
        ({"final_reward": 9, "template_reward": 0, "model_reward": 9000}, Cause.UNVERIFIED),
        ({"final_reward": 9, "template_reward": 4, "model_reward": 4}, Cause.UNVERIFIED),
        ({"final_reward": 9, "model_reward": float("nan")}, Cause.UNVERIFIED),
        ({"final_reward": 236}, Cause.UNVERIFIED),
        ({"final_reward": 2, "programs_discovered": {SYSTEM: [0, "x"]}}, Cause.VALUE_UNUSABLE),
        ({"final_reward": 2, "programs_discovered": {SYSTEM: ["0", 0]}}, Cause.UNVERIFIED),
        ({"final_reward": 9, "transactions": [did((SYSTEM, 0))]}, Cause.UNVERIFIED),
        ({"final_reward": "9"}, Cause.VALUE_UNUSABLE),
        ({"final_reward": True}, Cause.VALUE_UNUSABLE),
        ({"final_reward": -1}, Cause.VALUE_UNUSABLE),
        ({"final_reward": 0.5}, Cause.VALUE_UNUSABLE),
        ({"final_reward": float("inf")}, Cause.VALUE_UNUSABLE),
        ({}, Cause.VALUE_MISSING),
        ([], Cause.VALUE_MISSING),
        ("reward 236", Cause.VALUE_MISSING),
        (["x"], Cause.VALUE_UNUSABLE),
        ([{"instructions": "all of them"}], Cause.VALUE_UNUSABLE),
        ([{"instructions": [{"data": [1]}]}], Cause.VALUE_UNUSABLE),
        (
            [
                {
                    **did((SYSTEM, 0)),
                    "accountKeys": ["x"],
                    "instructions": [{"programId": "y", "programIdIndex": 0, "data": [1]}],
                }
            ],
            Cause.VALUE_UNUSABLE,
        ),
    ],
)
def test_claims_that_nothing_bears_out_have_no_score(document: Any, cause: Cause) -> None:
    reading, further = judged(document)
    assert (reading.value, reading.missing, further) == (None, cause, ())


def test_what_a_live_run_needs_is_named_and_a_log_needs_nothing(tmp_path: Path) -> None:
    known = read_catalogue().find("solana_gym")
    (settings,) = settle([known.descriptor], {}, [known.descriptor])
    nowhere = {"PATH": str(tmp_path)}
    told = " ".join(missing(known, settings.parameters, nowhere))
    assert "'surfpool'" in told
    assert "'bun'" in told
    assert "gym_path" in told
    assert missing(known, {**settings.parameters, "log_path": "x"}, nowhere) == []
    external = " ".join(missing(known, {**settings.parameters, "use_external_surfpool": True}, nowhere))
    assert "'surfpool'" not in external


async def test_a_live_run_without_its_needs_is_incompatible(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Incompatible) as caught:
        await played(store, max_tasks=2)
    assert len(caught.value.missing) == 3


STAND_IN = """
import json, os, pathlib
settings = [os.environ[name] for name in ("MODEL_NAME", "MAX_MESSAGES", "ENVIRONMENT_CONFIG", "USE_EXTERNAL_SURFPOOL")]
folder = pathlib.Path(os.environ["OUTPUT_DIR"])
pairs = {"TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA": list(range(int(settings[1])))}
metrics = {"model": settings[0], "final_reward": int(settings[1]), "settings": settings, "programs_discovered": pairs}
(folder / "run_metrics.json").write_text(json.dumps(metrics))
"""


async def test_a_live_run_is_scored_by_what_the_gym_wrote(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What this machine lacks is another test's matter; here the gym is a stand-in that needs none of it.
    monkeypatch.setattr("mesocosm.benchmarks.command.lacking", lambda setup: [])
    gym = tmp_path / "gym"
    written(gym, dedent(STAND_IN), "code_loop_explorer.py")
    run = await played(store, tmp_path / "out", gym_path=str(gym), max_tasks=59)
    assert run.primary is not None
    assert (run.primary.value, values(run)["reward"], values(run)["gym_reward"]) == (25 / INSTRUCTIONS, 25.0, 59.0)
    recorded = json.loads((tmp_path / "out/attempt-1/output/gym/run_metrics.json").read_text())
    assert recorded["settings"] == ["random", "59", "voyager/environments/basic_env.json", "false"]


def test_a_gym_that_writes_nothing_or_fails_has_no_result(tmp_path: Path) -> None:
    (tmp_path / "gym.py").write_text("")
    (tmp_path / "bad.py").write_text("raise SystemExit(5)")
    for entry, code in (("gym.py", 1), ("bad.py", 5)):
        output = tmp_path / entry.removesuffix(".py")
        output.mkdir()
        assert live.main(["--gym", str(tmp_path), "--output", str(output), "--entry", entry]) == code
        assert not (output / "result.json").exists()
