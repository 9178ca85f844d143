"""Small files of other programs: logs of Inspect, results of lm-eval, trajectories, a database of the orchestrator."""

import json
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import zstandard

JSON = dict[str, Any]

AT = "2026-01-02T03:04:05+00:00"
SECRET = "sk-" + "a" * 40


def message(role: str, content: Any, number: int, **more: Any) -> JSON:
    """Return a message with its id."""
    return {"id": f"m{number}", "role": role, "content": content, **more}


def inspect_sample(number: int, epoch: int = 1, value: Any = "C", **more: Any) -> JSON:
    """Return a sample that called a tool once; its messages are pooled, and a long text stands in the attachments."""
    call = {"id": f"c{number}", "function": "add", "arguments": {"x": number}, "type": "function"}
    messages = [
        message("user", "attachment://abc123", 10 * number),
        message("assistant", "", 10 * number + 1, tool_calls=[call], model="mockllm/model"),
        message("tool", str(number + 1), 10 * number + 2, tool_call_id=call["id"], function="add"),
        message("assistant", f"The answer is {number + 1}", 10 * number + 3, model="mockllm/model"),
    ]
    usage = {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}

    def output(place: int, reason: str) -> JSON:
        said = messages[place]
        choice = {"message": said, "stop_reason": reason}
        return {
            "model": "mockllm/model",
            "choices": [choice],
            "completion": said["content"],
            "usage": usage,
            "time": 0.5,
        }

    def model(end: int, reason: str) -> JSON:
        refs = [[0, end]]
        event = {"event": "model", "timestamp": AT, "working_start": 0.0, "model": "mockllm/model", "input": []}
        return {
            **event,
            "input_refs": refs,
            "tools": [],
            "tool_choice": "auto",
            "config": {},
            "output": output(end, reason),
        }

    tool = {"event": "tool", "type": "function", "timestamp": AT, "working_start": 0.1, "events": []}
    tool |= {"id": call["id"], "function": "add", "arguments": {"x": number}, "result": str(number + 1)}
    begin = {"event": "span_begin", "timestamp": AT, "working_start": 0.0, "id": "s", "type": "solver", "name": "g"}
    return {
        "id": number if number % 2 else f"s{number}",
        "epoch": epoch,
        "input": "attachment://abc123",
        "target": str(number + 1),
        "messages": messages,
        "output": output(3, "stop"),
        "scores": {"match": {"value": value, "answer": str(number + 1), "explanation": "compared", "history": []}},
        "metadata": {"level": "easy", "n": number},
        "store": {"seen": [1]},
        "events": [begin, model(1, "tool_calls"), tool, model(3, "stop")],
        "events_data": {"messages": messages[:3], "calls": []},
        "attachments": {"abc123": f"What is {number} + 1? " + "please " * 20},
        "model_usage": {"mockllm/model": {"input_tokens": 10, "output_tokens": 4, "total_tokens": 14}},
        "started_at": AT,
        "completed_at": "2026-01-02T03:04:09+00:00",
        "total_time": 4.0,
        "working_time": 3.0,
        "uuid": f"u{number}-{epoch}",
        "a_field_of_tomorrow": {"x": 1},
        **more,
    }


def inspect_header(samples: Iterable[JSON], status: str = "success", epochs: int = 1, **more: Any) -> JSON:
    """Return the header of a log with these samples."""
    ids = list(dict.fromkeys(sample["id"] for sample in samples))
    accuracy = {"accuracy": {"name": "accuracy", "value": 0.75, "params": {}}}
    return {
        "version": 2,
        "status": status,
        "eval": {
            "eval_id": "E1",
            "run_id": "R1",
            "created": AT,
            "task": "sums",
            "task_id": "T1",
            "task_version": 3,
            "dataset": {"name": "sums", "samples": len(ids), "sample_ids": ids},
            "model": "mockllm/model",
            "model_generate_config": {"temperature": 0.5},
            "config": {"epochs": epochs},
            "scorers": [{"name": "match", "metrics": [{"name": "inspect_ai/accuracy"}]}],
            "metadata": more.pop("metadata", {}),
        },
        "plan": {"name": "plan", "steps": [{"solver": "use_tools"}, {"solver": "generate"}], "config": {}},
        "results": {
            "total_samples": len(ids) * epochs,
            "completed_samples": len(ids) * epochs,
            "scores": [{"name": "match", "scorer": "match", "metrics": accuracy}],
            "headline": {"scorer": "match", "score": "match", "metric": "accuracy"},
        },
        "stats": {"started_at": AT, "completed_at": "2026-01-02T03:05:00+00:00"},
        **more,
    }


def write_eval(
    path: Path,
    samples: Iterable[JSON],
    header: JSON | None = None,
    *,
    listed: Iterable[JSON] | None = None,
    zstd: bool = False,
) -> Path:
    """Write a `.eval` file, its members deflated or packed with Zstandard; its summaries name the samples `listed`."""
    held = list(samples)
    named = [{"id": one["id"], "epoch": one["epoch"]} for one in (held if listed is None else listed)]
    members: dict[str, Any] = {f"samples/{one['id']}_epoch_{one['epoch']}.json": one for one in held}
    members |= {"summaries.json": named, "header.json": inspect_header(held) if header is None else header}
    if zstd:
        path.write_bytes(zstd_archive({name: json.dumps(value).encode() for name, value in members.items()}))
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, value in members.items():
                archive.writestr(name, json.dumps(value))
    return path


def zstd_archive(members: dict[str, bytes]) -> bytes:
    """Return a ZIP file whose members are packed with Zstandard, each in two frames."""
    body, directory = b"", b""
    for name, data in members.items():
        half = len(data) // 2
        packed = b"".join(zstandard.ZstdCompressor().compress(piece) for piece in (data[:half], data[half:]))
        facts = (93, 0, 0x21, zlib.crc32(data), len(packed), len(data), len(name), 0)
        head = struct.pack("<HH", 63, 0) + struct.pack("<3H3I2H", *facts)
        directory += (
            b"PK\x01\x02" + struct.pack("<H", 63) + head + struct.pack("<3H2I", 0, 0, 0, 0, len(body)) + name.encode()
        )
        body += b"PK\x03\x04" + head + name.encode() + packed
    count = len(members)
    return body + directory + b"PK\x05\x06" + struct.pack("<4H2IH", 0, 0, count, count, len(directory), len(body), 0)


def write_inspect_json(path: Path, samples: list[JSON], header: JSON | None = None) -> Path:
    """Write a log as one JSON document."""
    document = {**(inspect_header(samples) if header is None else header), "samples": samples}
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")
    return path


def write_lm_eval(folder: Path) -> Path:
    """Write results of a task that generates under two filters, of one with choices, and of a perplexity."""
    stamp = "2026-01-02T03-04-05.000001"
    folder.mkdir(parents=True, exist_ok=True)
    results = {
        "results": {
            "sums": {"alias": "sums", "sample_len": 3, "exact_match,strict": 1 / 3, "exact_match,loose": 2 / 3},
            "colours": {"alias": "colours", "acc,none": 0.5, "acc_stderr,none": 0.5},
            "prose": {"alias": "prose", "word_perplexity,none": 1.5},
            "elsewhere": {"alias": "elsewhere", "acc,none": 0.25},
        },
        "configs": {name: {"metric_list": []} for name in ("sums", "colours", "prose", "elsewhere")},
        "versions": {"sums": 2.0},
        "n-shot": {"sums": 5},
        "higher_is_better": {
            "sums": {"exact_match": True},
            "colours": {"acc": True},
            "prose": {"word_perplexity": False},
        },
        "n-samples": {"sums": {"original": 3, "effective": 3}},
        "date": 1767323045.5,
        "model_source": "local-completions",
        "config": {"model": "local-completions", "model_args": "model=tiny,base_url=http://127.0.0.1:1/v1"},
        "model_name": "tiny",
    }
    path = folder / f"results_{stamp}.json"
    path.write_text(json.dumps(results), encoding="utf-8")
    rows: dict[str, list[JSON]] = {"sums": [], "colours": [], "prose": []}
    for rule, good in (("strict", 1), ("loose", 2)):
        for number in range(3):
            request = {"gen_args_0": {"arg_0": f"Q: {number} + 1?\nA:", "arg_1": {"until": ["\n"]}}}
            rows["sums"].append(
                {
                    "doc_id": number,
                    "doc": {"question": f"{number} + 1?"},
                    "target": str(number + 1),
                    "arguments": request,
                    "resps": [[f"it is {number + 1}"]],
                    "filtered_resps": [str(number + 1)],
                    "filter": rule,
                    "metrics": ["exact_match"],
                    "exact_match": float(number < good),
                }
            )
    for number in range(2):
        rows["colours"].append(
            {
                "doc_id": number,
                "doc": {"question": f"pick {number}"},
                "target": "0",
                "arguments": {
                    "gen_args_0": {"arg_0": "Q", "arg_1": " red"},
                    "gen_args_1": {"arg_0": "Q", "arg_1": " blue"},
                },
                "resps": [[["-2.5", "False"]], [["-1.5", "True"]]],
                "filtered_resps": [["-2.5", "False"], ["-1.5", "True"]],
                "filter": "none",
                "metrics": ["acc"],
                "acc": float(number),
            }
        )
        rows["prose"].append(
            {"doc_id": number, "doc": {"text": "a b"}, "target": "a b", "arguments": {"gen_args_0": {"arg_0": "a b"}}}
            | {"resps": [["-0.5"]], "filtered_resps": ["-0.5"], "filter": "none", "metrics": ["word_perplexity"]}
            | {"word_perplexity": [-0.5, 2]}
        )
    for task, lines in rows.items():
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (folder / f"samples_{task}_{stamp}.jsonl").write_text(text, encoding="utf-8")
    return path


def tau_results(tasks: int = 3, trials: int = 2) -> list[JSON]:
    """Return results of tau-bench: task N passes in trial K if N > K; the last task crashed in trial 1."""
    found = []
    for trial in range(trials):
        for task in range(tasks):
            call = {"id": "c1", "type": "function", "function": {"name": "book", "arguments": '{"flight": "F1"}'}}
            traj: list[JSON] = [
                {"role": "system", "content": "Policy."},
                {"role": "user", "content": f"Task {task}, please."},
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": "c1", "name": "book", "content": "booked"},
                {"role": "assistant", "content": "Done."},
            ]
            info: JSON = {"task": {"user_id": f"u{task}", "instruction": f"You want {task}."}, "user_cost": 0.01}
            reward = float(task > trial)
            if task == tasks - 1 and trial == 1:
                info, traj, reward = {"error": "rate limit", "traceback": "Traceback …"}, [], 0.0
            found.append({"task_id": task, "trial": trial, "reward": reward, "info": info, "traj": traj})
    return found


def tau2_results() -> JSON:
    """Return results of τ²: two tasks of two trials, one of which ran out of steps, and one whose user failed."""
    simulations = []
    for trial in range(2):
        for task in ("t1", "t2"):
            messages: list[JSON] = [
                {"role": "user", "content": f"Help with {task}", "turn_idx": 0, "timestamp": "2026-01-02T03:04:06"},
                {
                    "role": "assistant",
                    "content": "Done.",
                    "turn_idx": 1,
                    "timestamp": "2026-01-02T03:04:07",
                    "cost": 0.002,
                    "usage": {"prompt_tokens": 11, "completion_tokens": 3},
                },
            ]
            one: JSON = {
                "id": f"{task}-{trial}",
                "task_id": task,
                "trial": trial,
                "seed": 7 + trial,
                "messages": messages,
            }
            one |= {"start_time": "2026-01-02T03:04:05", "end_time": "2026-01-02T03:04:08", "agent_cost": 0.002}
            one |= {"termination_reason": "user_stop", "reward_info": {"reward": float(trial)}}
            simulations.append(one)
    simulations[1] |= {"termination_reason": "max_steps", "reward_info": {"reward": 0.0}}
    simulations[3] |= {"termination_reason": "user_error", "reward_info": None}
    info = {
        "git_commit": "abc",
        "num_trials": 2,
        "agent_info": {"implementation": "llm_agent", "llm": "openai/gpt-4.1", "llm_args": {"temperature": 0.0}},
        "user_info": {"llm": "openai/gpt-4.1"},
        "environment_info": {"domain_name": "retail"},
    }
    return {
        "timestamp": "2026-01-02T03:04:00",
        "info": info,
        "tasks": [{"id": "t1"}, {"id": "t2"}],
        "simulations": simulations,
    }


def trajectory(number: int = 0, version: str = "ATIF-v1.7", **more: Any) -> JSON:
    """Return an ATIF trajectory with a tool call."""
    return {
        "schema_version": version,
        "session_id": f"session-{number}",
        "agent": {"name": "terminus", "version": "2.0", "model_name": "openai/gpt-5"},
        "steps": [
            {"step_id": 1, "source": "system", "message": "Be exact."},
            {"step_id": 2, "source": "user", "message": f"Task {number}", "timestamp": AT},
            {
                "step_id": 3,
                "source": "agent",
                "message": "I look.",
                "timestamp": "2026-01-02T03:04:06+00:00",
                "model_name": "openai/gpt-5",
                "reasoning_content": "hm",
                "tool_calls": [{"tool_call_id": "c1", "function_name": "bash", "arguments": {"command": "ls"}}],
                "observation": {"results": [{"source_call_id": "c1", "content": "file.txt"}]},
                "metrics": {"prompt_tokens": 20, "completion_tokens": 5, "cached_tokens": 4, "cost_usd": 0.01},
            },
            {
                "step_id": 4,
                "source": "agent",
                "message": "Done.",
                "llm_call_count": 1,
                "metrics": {"prompt_tokens": 30},
            },
        ],
        "final_metrics": {"total_prompt_tokens": 50, "total_completion_tokens": 9, "total_cost_usd": 0.02},
        **more,
    }


def write_harbor_trial(job: Path, task: str, attempt: int, reward: float | None, **more: Any) -> Path:
    """Write a trial of a Harbor job: its result, and the trajectory of its agent."""
    trial = job / f"{task}__{attempt}"
    (trial / "agent").mkdir(parents=True)
    result = {
        "task_name": f"org/{task}",
        "trial_name": trial.name,
        "task_checksum": f"sum-{task}",
        "source": "toy-bench",
        "verifier_result": None if reward is None else {"rewards": {"reward": reward}},
        "started_at": f"2026-01-02T03:0{attempt}:05+00:00",
        "finished_at": f"2026-01-02T03:0{attempt}:45+00:00",
        **more,
    }
    (trial / "result.json").write_text(json.dumps(result), encoding="utf-8")
    path = trial / "agent" / "trajectory.json"
    path.write_text(json.dumps(trajectory(attempt)), encoding="utf-8")
    return path


def write_orchestrator(path: Path) -> Path:
    """Write a database of the elizaOS orchestrator: two attempts at bfcl, one failure, one skipped, one of hermes."""
    connection = sqlite3.connect(path)
    columns = (
        "run_id TEXT PRIMARY KEY, run_group_id TEXT, benchmark_id TEXT, benchmark_directory TEXT, signature TEXT, "
        "attempt INTEGER, status TEXT, agent TEXT, provider TEXT, model TEXT, extra_config_json TEXT, started_at TEXT, "
        "ended_at TEXT, score REAL, unit TEXT, higher_is_better INTEGER, metrics_json TEXT, error TEXT, created_at TEXT"
    )
    connection.executescript(
        f"CREATE TABLE run_groups (run_group_id TEXT PRIMARY KEY); CREATE TABLE benchmark_runs ({columns});"
    )
    rows = [
        ("bfcl", 1, "succeeded", "eliza", 0.5, '{"n": 2}', None),
        ("bfcl", 2, "skipped", "eliza", None, "{}", None),
        ("bfcl", 3, "succeeded", "eliza", 0.75, "{}", None),
        ("gsm8k", 1, "failed", "eliza", None, "{}", "GROQ_API_KEY is missing"),
        ("bfcl", 1, "succeeded", "hermes", 0.25, "{}", None),
    ]
    for number, (benchmark, attempt, status, agent, score, metrics, error) in enumerate(rows):
        config = json.dumps({"limit": 2, "agent": agent, "harness": agent})
        at = f"2026-01-02T03:0{number}:00+00:00"
        given = (
            f"run_{number}",
            "rg_1",
            benchmark,
            benchmark,
            f"sig-{benchmark}-{agent}",
            attempt,
            status,
            agent,
            "groq",
        )
        values = (*given, "m1", config, at, at, score, "ratio", 1, metrics, error, at)
        connection.execute(f"INSERT INTO benchmark_runs VALUES ({','.join('?' * len(values))})", values)
    connection.commit()
    connection.close()
    return path
