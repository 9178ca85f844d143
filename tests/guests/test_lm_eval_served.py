"""Log-probabilities of a real model: those that lm-evaluation-harness gets by itself from the same server."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.foreign.real_servers import RealServer, free_port, started
from tests.guests import lm_eval_lab as lab

SERVER = Path(os.environ.get(lab.VARIABLE, ".")) / "llamacpp" / "bin" / "python"
"""An interpreter with llama-cpp-python[server] and gguf, whose server tells log-probabilities of prompts."""
pytestmark = pytest.mark.skipif(
    not lab.installed() or not SERVER.exists(),
    reason=f"{lab.VARIABLE} names no folder with lm-evaluation-harness and llama-cpp-python (llamacpp)",
)
NAMES = ("lm_choice", "lm_ending", "lm_pronoun")


@pytest.fixture
def served(tmp_path: Path) -> Iterator[RealServer]:
    file, port = tmp_path / "tiny.gguf", free_port()
    write = f"import pathlib; from tests.foreign import tiny_model; tiny_model.write(pathlib.Path({str(file)!r}))"
    subprocess.run([str(SERVER), "-c", write], cwd=lab.HERE.parent.parent, check=True)
    words = [str(SERVER), "-m", "llama_cpp.server", "--model", str(file), "--model_alias", "tiny", "--n_ctx", "2048"]
    more = ["--logits_all", "true", "--host", "127.0.0.1", "--port", str(port)]
    with started([*words, *more], port, "/v1/models", "tiny", tmp_path / "log") as server:
        yield server


def test_every_log_probability_is_that_of_the_harness(served: RealServer, place: Path) -> None:
    lab.folder(place)
    run = lab.play(f"lm-eval:{','.join(NAMES)}", served.named())
    ours = lab.answers_of(lab.episodes(run))
    done = subprocess.run(
        [lab.python(), str(lab.HERE / "lm_eval_served.py"), served.openai_url, served.key, ".", *NAMES],
        cwd=place,
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **lab.OFFLINE},
        capture_output=True,
        check=True,
    )
    theirs = json.loads(done.stdout.splitlines()[-1])
    found = {task: {doc: [one[0] for one in said] for doc, said in docs.items()} for task, docs in ours.items()}
    assert found == theirs
    assert sum(len(said) for docs in theirs.values() for said in docs.values()) == 25
