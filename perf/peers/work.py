"""The work that every runner gets: word problems with a number as the answer, and the model that is asked for it.

`python -m perf.peers.work --delay 0.05` serves the model on a free port and prints its address. It has a second name,
under which it is wrong more often.
"""

import argparse
import asyncio
import json
import re
from pathlib import Path
from random import Random
from typing import Any

from mesocosm.testing.model_server import ModelServer

MODEL = "loopback"
WORSE = "loopback-b"
KEY = "sk-loopback-0123456789abcdef"
_ASKS = (
    "{who} packs {a} boxes with {b} {things} each and gives {c} {things} away. How many {things} are left?",
    "A shelf has {a} rows of {b} {things}. {who} takes {c} of them home. How many {things} stay on the shelf?",
    "{who} orders {a} crates, each with {b} {things}; {c} {things} arrive broken. How many {things} are whole?",
)
_PEOPLE = ("Ada", "Emil", "Grace", "Kurt", "Mary", "Niels", "Sofia", "Srinivasa")
_THINGS = ("apples", "books", "candles", "lamps", "rolls", "tiles")
_FORM = " Answer with the number and nothing else."
_ASKED = re.compile(r"(\d+) (?:boxes with|rows of|crates, each with) (\d+) \w+[.;]? ?.*?(\d+) ", re.DOTALL)


def questions(count: int) -> list[dict[str, str]]:
    """Return `count` different questions with their answers, the same each time."""
    random = Random(15)
    made = []
    for number in range(count):
        a, b, c = 100 + number, random.randint(12, 99), random.randint(2, 1000)
        words = {"who": random.choice(_PEOPLE), "things": random.choice(_THINGS)}
        text = random.choice(_ASKS).format(a=a, b=b, c=c, **words) + _FORM
        made.append({"question": text, "answer": str(a * b - c)})
    return made


def said(prompt: str, model: str = MODEL) -> str:
    """Return what a model says to a prompt with a question: a wrong number to every fourth, `WORSE` to every third."""
    found = _ASKED.search(prompt)
    if found is None:
        return "I see no question."
    a, b, c = map(int, found.groups())
    return str(a * b - c + (a % (3 if model == WORSE else 4) == 0))


def score(count: int, model: str = MODEL) -> float:
    """Return the share of the questions that a model gets right."""
    made = questions(count)
    return sum(said(one["question"], model) == one["answer"] for one in made) / count


def write(file: Path, count: int) -> None:
    """Write the questions as JSON lines; their fields have the names that each runner looks for."""
    lines = [
        json.dumps({**one, "user_prompt": one["question"], "ground_truth": one["answer"]}) for one in questions(count)
    ]
    file.write_text("\n".join(lines) + "\n")


def _answer(body: dict[str, Any]) -> str:
    content = body["messages"][-1]["content"]
    text = content if isinstance(content, str) else " ".join(part.get("text", "") for part in content)
    return said(text, str(body["model"]))


async def _serve(delay: float) -> None:
    async with ModelServer(
        _answer, delay=delay, models=[MODEL, WORSE], keep=0, key=KEY, absent=["/v1/responses"]
    ) as server:
        print(server.openai_url, flush=True)
        await asyncio.Event().wait()


def main() -> None:
    """Serve the model until ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    asyncio.run(_serve(parser.parse_args().delay))


if __name__ == "__main__":
    main()
