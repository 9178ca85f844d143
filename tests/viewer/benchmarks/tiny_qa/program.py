"""Asks the model questions, every second one streaming, and prints a lot: a benchmark that knows nothing of us."""

import argparse
import json
import os
import sys
from pathlib import Path
from urllib.request import Request, urlopen

QUESTIONS = 6
LINES = 9


def ask(question: str, *, stream: bool) -> str:
    """Return what the server says, as it comes over the wire."""
    body = {"model": "any", "messages": [{"role": "user", "content": question}], "stream": stream}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
    with urlopen(Request(address, json.dumps(body).encode(), headers)) as answer:
        return str(answer.read().decode())


def main() -> None:
    """Ask, print, and write items and the result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--limit", type=int, default=QUESTIONS)
    count = min(parser.parse_args().limit, QUESTIONS)
    output = Path(os.environ["BENCHMARK_OUTPUT_ROOT"])
    with (output / "items.jsonl").open("w") as items:
        for number in range(count):
            said = ask(f"What is {number} + {number}?", stream=number % 2 == 1)
            for line in range(LINES):
                print(f"\x1b[32minfo\x1b[0m question {number}, line {line}", flush=True)
            items.write(json.dumps({"id": f"q{number}", "score": number % 2, "output": said[:40]}) + "\n")
    print("a word of warning", file=sys.stderr, flush=True)
    (output / "result.json").write_text(json.dumps({"score": 0.5}))


if __name__ == "__main__":
    main()
