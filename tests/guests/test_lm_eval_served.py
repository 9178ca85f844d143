"""Log-probabilities of a real model: those that lm-evaluation-harness gets by itself from the same server."""

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.foreign.real_servers import RealServer, free_port, started
from tests.guests import lm_eval_lab as lab

from mesocosm.core.failure import Cause

SERVER = Path(os.environ.get(lab.VARIABLE, ".")) / "llamacpp" / "bin" / "python"
"""An interpreter with llama-cpp-python[server] and gguf, whose server tells log-probabilities of prompts."""
pytestmark = pytest.mark.skipif(
    not lab.installed() or not SERVER.exists(),
    reason=f"{lab.VARIABLE} names no folder with lm-evaluation-harness and llama-cpp-python (llamacpp)",
)
NAMES = ("lm_choice", "lm_ending", "lm_pronoun")
LONG = ("lm_rolling", "lm_choice", "lm_ending")
WINDOW = {"max_length": 50, "tokenized_requests": False, "custom_prefix_token_id": 259}
"""Less than most pages and choices have. A space stands before a text: the server does not show what begins a text."""
TOKENIZER = """
import sys
from tokenizers import Tokenizer, decoders, models, normalizers
from transformers import PreTrainedTokenizerFast
space = chr(0x2581)
words = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), space]
vocabulary = {word: place for place, word in enumerate(words)}
found = Tokenizer(models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>", byte_fallback=True))
found.normalizer = normalizers.Replace(" ", space)
found.decoder = decoders.Sequence([decoders.Replace(space, " "), decoders.ByteFallback(), decoders.Fuse()])
PreTrainedTokenizerFast(tokenizer_object=found, bos_token="<s>", eos_token="</s>").save_pretrained(sys.argv[1])
"""
"""Writes the tokenizer of tests/foreign/tiny_model.py as a folder."""


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
    found, theirs = answers(served, place, NAMES), original(served, place, NAMES)
    assert found == theirs
    assert sum(len(said) for docs in theirs.values() for said in docs.values()) == 25


def test_long_texts_are_cut_as_the_harness_cuts_them(served: RealServer, place: Path) -> None:
    tokenizer = place / "tokenizer"
    if subprocess.run([lab.python(), "-c", TOKENIZER, str(tokenizer)], capture_output=True, check=False).returncode:
        pytest.skip("the interpreter of lm-evaluation-harness has no transformers")
    lab.folder(place)
    given = {"tokenizer": str(tokenizer), **WINDOW}
    found, theirs = answers(served, place, LONG, **given), original(served, place, LONG, json.dumps(given))
    assert found == theirs
    # The longest page needs two windows, and the longest choices lose the beginning of their question.
    assert sorted(found) == sorted(LONG)


def test_what_is_longer_than_the_window_has_no_score(served: RealServer, place: Path) -> None:
    tokenizer = place / "tokenizer"
    if subprocess.run([lab.python(), "-c", TOKENIZER, str(tokenizer)], capture_output=True, check=False).returncode:
        pytest.skip("the interpreter of lm-evaluation-harness has no transformers")
    lab.folder(place)
    run = lab.play("lm-eval:lm_ending", served.named(), tokenizer=str(tokenizer), **{**WINDOW, "max_length": 6})
    found = lab.episodes(run)
    assert {score.missing for one in found.values() for score in one.scores if score.value is None} == {
        Cause.VALUE_MISSING
    }
    assert found["lm_ending/1"].scores[0].value is None


def answers(served: RealServer, place: Path, names: Sequence[str], **params: Any) -> dict[str, Any]:
    """Return our answers by task and document."""
    run = lab.play(f"lm-eval:{','.join(names)}", served.named(), **params)
    ours = lab.answers_of(lab.episodes(run))
    return {task: {doc: [one[0] for one in said] for doc, said in docs.items()} for task, docs in ours.items()}


def original(served: RealServer, place: Path, names: Sequence[str], *more: str) -> Any:
    """Return those of the harness; `more` are arguments of its model."""
    program = str(lab.HERE / "lm_eval_served.py")
    done = subprocess.run(
        [lab.python(), program, served.openai_url, served.key, ".", ",".join(names), *more],
        cwd=place,
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **lab.OFFLINE},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()[-2000:]
    return json.loads(done.stdout.splitlines()[-1])
