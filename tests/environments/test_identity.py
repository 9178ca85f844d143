"""What can be known of an environment without running it."""

from pathlib import Path
from typing import Any

import pytest

from mesocosm.environments.identity import named_by_health, served_class

ENV = "class Word(Base):\n    pass\n\nAlias = Word\n"
MAIN = "from env import Word\nfrom bench_common.env_sdk import serve\n"


def adapter(directory: Path, source: str) -> Path:
    (directory / "env.py").write_text(ENV)
    path = directory / "adapter.py"
    path.write_text(source)
    return path


@pytest.mark.parametrize(
    "source",
    [
        MAIN + "serve(Word, host='0.0.0.0', port=1)",
        MAIN + "def main():\n    if True:\n        serve(env_class=Word)\nmain()",
        "from env import Word as Game\nimport sdk\nsdk.serve(Game, port=1)",
        "class Word: pass\nserve(Word)",
    ],
)
def test_the_class_handed_to_serve_is_found(tmp_path: Path, source: str) -> None:
    assert served_class(adapter(tmp_path, source)) == "Word"


@pytest.mark.parametrize(
    "source",
    [
        "print('no serve')",
        MAIN + "serve(make())",
        MAIN + "chosen = Word\nserve(chosen)",
        "from env import Alias\nserve(Alias)",
        "from installed import Word\nserve(Word)",
        "class A: pass\nclass B: pass\nserve(A)\nserve(B)",
        "serve()",
        "this is no python",
        "\x00",
    ],
)
def test_nothing_is_claimed_where_the_source_does_not_tell(tmp_path: Path, source: str) -> None:
    assert served_class(adapter(tmp_path, source)) == ""


def test_a_missing_adapter_serves_nothing(tmp_path: Path) -> None:
    assert served_class(tmp_path / "adapter.py") == ""


def test_a_class_of_a_package_beside_the_adapter_counts(tmp_path: Path) -> None:
    (tmp_path / "game").mkdir()
    (tmp_path / "game" / "__init__.py").write_text("class Chess: pass")
    assert served_class(adapter(tmp_path, "from game import Chess\nserve(Chess)")) == "Chess"


@pytest.mark.parametrize(
    ("body", "name"), [({"status": "ok", "env": "Word"}, "Word"), ({"status": "ok"}, ""), ({"env": 5}, ""), ("ok", "")]
)
def test_health_names_the_class_or_nothing(body: Any, name: str) -> None:
    assert named_by_health(body) == name
