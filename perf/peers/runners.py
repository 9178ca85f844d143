"""Each runner with the same work: what it needs in its folder, its command, and where its score stands."""

import json
import os
import shutil
import socket
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from perf.peers.work import KEY, MODEL, write

MATERIAL = Path(__file__).with_name("material")


@dataclass(frozen=True)
class Work:
    """What one measurement plays: the address of the model, how many questions, how many at a time."""

    url: str
    count: int
    at_once: int


class Runner(Protocol):
    """One way to do the work. `ours` names the runner of this project that a peer is compared with."""

    name: str
    title: str
    ours: str

    def prepare(self, folder: Path, work: Work) -> None:
        """Put into `folder` what the command needs; not measured. Raises Unavailable."""

    def command(self, work: Work) -> list[str]:
        """Return the command; it is called in the folder."""

    def variables(self, work: Work) -> dict[str, str]:
        """Return variables beside the usual ones."""

    def score(self, folder: Path, output: str) -> float:
        """Return the share of right answers that it reports, from its files or what it printed."""

    def close(self) -> None:
        """End what `prepare` started."""


@dataclass
class _Here:
    """A command that needs files of `material` and the questions."""

    place: Path
    """The virtual environment."""

    name = title = ours = material = ""

    def prepare(self, folder: Path, work: Work) -> None:
        shutil.copytree(MATERIAL / self.material, folder, dirs_exist_ok=True)
        write(folder / "rows.jsonl", work.count)

    def variables(self, work: Work) -> dict[str, str]:
        return {}

    def close(self) -> None:
        pass

    def program(self, name: str) -> str:
        return str(self.place / "bin" / name)


class _Benchmark(_Here):
    """Ours, as a benchmark."""

    name, title, material = "bench run", "`bench run`", "mesocosm"

    def command(self, work: Work) -> list[str]:
        chosen = ["--benchmarks-dir", ".", "--benchmarks", "peers-sums", "--model", f"openai/{MODEL}@{work.url}"]
        extra = ["--extra", '{"data_path": "rows.jsonl"}', "--parallel", str(work.at_once)]
        return [self.program("mesocosm"), "bench", "run", *chosen, *extra, "--quiet", "--json"]

    def score(self, folder: Path, output: str) -> float:
        (outcome,) = json.loads(output)["outcomes"]
        return float(outcome["score"])


class _Rollout(_Here):
    """Ours, as a rollout in worker processes; the files of a workspace."""

    name, title, material = "eval run-local", "`eval run-local`", "rollout"

    def prepare(self, folder: Path, work: Work) -> None:
        workspace(folder, work, f"openai/{MODEL}@{work.url}")

    def command(self, work: Work) -> list[str]:
        return [
            self.program("mesocosm"),
            "eval",
            "run-local",
            "configs/eval/sums.toml",
            "--quiet",
            "--no-view",
            "--json",
        ]

    def score(self, folder: Path, output: str) -> float:
        return float(json.loads(output)["data"]["summary"]["pass_rate"])


class _Environment(_Here):
    """Ours, as an environment behind HTTP."""

    name, title, material = "run local", "`run local`", "swecc"

    def command(self, work: Work) -> list[str]:
        chosen = ["--model", f"openai/{MODEL}@{work.url}", "--episodes", str(work.count)]
        more = ["--parallel", str(work.at_once), "--env-url", f"http://127.0.0.1:{free_port()}"]
        return [self.program("mesocosm"), "run", "local", *chosen, *more, "--quiet", "--json"]

    def score(self, folder: Path, output: str) -> float:
        (metric,) = [one for one in json.loads(output)["run"]["metrics"] if one["primary"]]
        return float(metric["value"])


class _Inspect(_Here):
    """Inspect, by the chat protocol as all others."""

    name, title, ours, material = "inspect", "Inspect", _Benchmark.name, "inspect"

    def command(self, work: Work) -> list[str]:
        model = ["--model", f"openai/{MODEL}", "--model-base-url", work.url, "-M", "responses_api=false"]
        many = ["--max-connections", str(work.at_once), "--max-samples", str(work.at_once)]
        return [self.program("inspect"), "eval", "sums.py", "-T", "rows=rows.jsonl", *model, *many, "--display", "none"]

    def score(self, folder: Path, output: str) -> float:
        (log,) = (folder / "logs").glob("*.eval")
        # The file is a zip with a compression that few read, so the program itself says what is in it.
        command = [self.program("inspect"), "log", "dump", "--header-only", str(log)]
        dumped = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        return float(dumped["results"]["scores"][0]["metrics"]["mean"]["value"])


class _LmEval(_Here):
    """The evaluation harness of EleutherAI."""

    name, title, ours, material = "lm_eval", "lm-eval", _Benchmark.name, "lm_eval"

    def command(self, work: Work) -> list[str]:
        model = f"model={MODEL},base_url={work.url}/chat/completions,num_concurrent={work.at_once}"
        chosen = [
            "--model",
            "local-chat-completions",
            "--model_args",
            f"{model},max_retries=3,tokenized_requests=False",
        ]
        task = ["--apply_chat_template", "--tasks", "sums", "--include_path", "."]
        return [self.program("lm_eval"), "run", *chosen, *task, "--log_samples", "--output_path", "results"]

    def variables(self, work: Work) -> dict[str, str]:
        return {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}

    def score(self, folder: Path, output: str) -> float:
        (found,) = (folder / "results").rglob("results_*.json")
        return float(json.loads(found.read_text())["results"]["sums"]["exact_match,none"])


class _Verifiers(_Here):
    """verifiers, with a harness in its own process: the one of the package starts a Python process for each row."""

    name, title, ours, material = "verifiers", "verifiers", _Rollout.name, "verifiers"

    def command(self, work: Work) -> list[str]:
        client = ["--model", MODEL, "--client.base-url", work.url, "--client.api-key-var", "OPENAI_API_KEY"]
        agent = ["--env.agent.harness.id", "peers_sums", "--env.agent.runtime.type", "subprocess"]
        rest = ["--max-concurrent", str(work.at_once), "--push", "False", "--rich", "None", "-o", "results"]
        return [self.program("vf-eval"), "peers_sums", *client, *agent, *rest]

    def variables(self, work: Work) -> dict[str, str]:
        return {"PYTHONPATH": ".", "PATH": f"{self.place / 'bin'}:{os.environ['PATH']}"}

    def score(self, folder: Path, output: str) -> float:
        (found,) = (folder / "results").rglob("traces.jsonl")
        rewards: list[float] = [json.loads(line)["traces"][0]["rewards"]["right"]["score"] for line in found.open()]
        return sum(rewards) / len(rewards)


@dataclass
class _Osmosis(_Here):
    """The published runner of rollouts, logged in to a server of ours: it works for nobody without one."""

    name, title, ours, material = "osmosis", "osmosis-ai", _Rollout.name, "rollout"
    platform: Any = field(default=None, init=False)
    used: dict[str, str] = field(default_factory=dict, init=False)

    def prepare(self, folder: Path, work: Work) -> None:
        from perf.peers.platform import Platform, declare

        if self.platform is None:
            self.platform = Platform()
        workspace(folder, work, f"openai/{MODEL}")
        self.used = declare(self.place, folder / "rollouts" / "sums")
        self.platform.adopt(folder)

    def command(self, work: Work) -> list[str]:
        chosen = ["configs/eval/sums.toml", "--dataset-file", "data/rows.jsonl", "--yes", "--json"]
        return [self.program("osmosis"), "eval", "run", *chosen, "--max-in-flight", str(work.at_once)]

    def variables(self, work: Work) -> dict[str, str]:
        found: dict[str, str] = self.platform.variables() | self.used
        path = f"{self.place / 'bin'}:{os.environ['PATH']}"
        return {**found, "OPENAI_BASE_URL": work.url, "OPENAI_API_BASE": work.url, "PATH": path}

    def score(self, folder: Path, output: str) -> float:
        (found,) = (folder / ".osmosis" / "evals").glob("*/metrics.json")
        return float(json.loads(found.read_text())["summary"]["pass_rate"])

    def close(self) -> None:
        if self.platform is not None:
            self.platform.close()


class _Swecc(_Here):
    """The published runner of environments."""

    name, title, ours, material = "swecc", "swecc-mesocosm", _Environment.name, "swecc"

    def command(self, work: Work) -> list[str]:
        address = f"http://127.0.0.1:{free_port()}"
        return [self.program("python"), "drive.py", f"openai/{MODEL}", str(work.count), str(work.at_once), address]

    def variables(self, work: Work) -> dict[str, str]:
        return {"OPENAI_API_BASE": work.url, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}

    def score(self, folder: Path, output: str) -> float:
        return float(json.loads(output.strip().splitlines()[-1])["scores"]["accuracy"])


OURS: tuple[type[_Here], ...] = (_Benchmark, _Rollout, _Environment)
PEERS: tuple[type[_Here], ...] = (_Inspect, _LmEval, _Verifiers, _Osmosis, _Swecc)


def workspace(folder: Path, work: Work, model: str) -> None:
    """Write the folder of a workspace with the rollout, its configuration and the questions."""
    shutil.copytree(MATERIAL / "rollout", folder / "rollouts" / "sums")
    for name in ("configs/eval", "configs/training", "data"):
        (folder / name).mkdir(parents=True)
    write(folder / "data" / "rows.jsonl", work.count)
    experiment = f'rollout = "sums"\nentrypoint = "main.py"\nmodel_path = "{model}"\ndataset = "data/rows.jsonl"\n'
    evaluation = f"limit = {work.count}\nbatch_size = {work.at_once}\n"
    text = f"[experiment]\n{experiment}\n[evaluation]\n{evaluation}\n[secrets]\nrequired = []\n"
    (folder / "configs" / "eval" / "sums.toml").write_text(text)


def base_variables(home: Path) -> dict[str, str]:
    """Return the variables of every command: none of the person who measures."""
    kept = ("PATH", "LANG", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
    passed = {name: os.environ[name] for name in kept if name in os.environ}
    return {**passed, "HOME": str(home), "OPENAI_API_KEY": KEY, "TERM": "dumb", "NO_COLOR": "1"}


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def own_environment() -> Path:
    """Return the virtual environment of this project."""
    return Path(sys.prefix)
