# ruff: noqa: SLF001
"""Verdicts of the leaderboard's own checker: reads answers as lines of JSON, prints one line for each.

Run with a Python that has `bfcl-eval` and the parsers that it names; the many clients of models that it imports are
not needed. A line has `category`, `functions`, `keys`, and either `calls`, a list of name and arguments as JSON text,
or `text`. The verdict is true, false, or null if the checker did not end within two seconds. The argument
`data` prints its published questions instead.
"""

import contextlib
import importlib.abc
import importlib.machinery
import json
import signal
import sys
from pathlib import Path
from types import FunctionType, ModuleType

SECONDS = 2


class _Absent:
    """Anything of a package that is not installed; as a decorator it changes nothing."""

    def __init__(self, *given, **named):
        del given, named

    def __call__(self, *given, **named):
        del named
        return given[0] if len(given) == 1 and isinstance(given[0], FunctionType) else self

    def __getattr__(self, name):
        return _Absent()

    def __or__(self, other):
        return self


class _Empty(ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Absent if name[0].isupper() else _Absent()


class _Missing(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands in for every package that is not installed."""

    def find_spec(self, name, path=None, target=None):
        del path, target
        top = name.partition(".")[0]
        own = top in sys.stdlib_module_names or top.startswith(("bfcl_eval", "tree_sitter", "org"))
        return None if own else importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return _Empty(spec.name)

    def exec_module(self, module):
        pass


class _TooLong(BaseException):
    pass


def _stop(*_):
    raise _TooLong


def main():
    """Answer every line of standard input."""
    sys.meta_path.append(_Missing())
    with contextlib.redirect_stdout(sys.stderr):
        from bfcl_eval.constants.enums import Language, ReturnFormat
        from bfcl_eval.eval_checker import eval_runner
        from bfcl_eval.eval_checker.ast_eval import ast_checker
        from bfcl_eval.model_handler.api_inference.openai_completion import OpenAICompletionsHandler

    class Config:
        def __init__(self, dots_become_underscores):
            self.underscore_to_dot = dots_become_underscores

    ast_checker.MODEL_CONFIG_MAPPING = {"native": Config(True), "prompted": Config(False)}
    handler = OpenAICompletionsHandler.__new__(OpenAICompletionsHandler)
    languages = {
        "java": (Language.JAVA, ReturnFormat.JAVA),
        "javascript": (Language.JAVASCRIPT, ReturnFormat.JAVASCRIPT),
    }
    python = Language.PYTHON, ReturnFormat.PYTHON

    def verdict(row):
        handler.is_fc_model = "calls" in row
        model = "native" if handler.is_fc_model else "prompted"
        said = [{name: arguments} for name, arguments in row["calls"]] if handler.is_fc_model else row["text"]
        category, entry = row["category"], {"function": row["functions"]}
        if "relevance" in category:
            found = eval_runner._evaluate_single_relevance_entry(handler, "", said, entry, model, category)
        else:
            language, form = languages.get(category.rpartition("_")[2], python)
            found = eval_runner._evaluate_single_ast_entry(
                handler, "", said, row["keys"], entry, model, category, language, form
            )
        return bool(found["valid"])

    signal.signal(signal.SIGALRM, _stop)
    for line in sys.stdin:
        row = json.loads(line)
        signal.alarm(SECONDS)
        try:
            with contextlib.redirect_stdout(sys.stderr):
                found = verdict(row)
        except _TooLong:
            found = None
        except Exception:  # noqa: BLE001 — the leaderboard's evaluation ends there
            found = False
        finally:
            signal.alarm(0)
        print(json.dumps(found))


def data():
    """Print the published questions that have a key."""
    import bfcl_eval

    folder = Path(bfcl_eval.__file__).parent / "data"
    kinds = ["simple", "multiple", "parallel", "parallel_multiple"]
    languages = [f"simple_{language}" for language in ("python", "java", "javascript")]
    for category in [*languages, *kinds[1:], *(f"live_{kind}" for kind in kinds)]:
        name = f"BFCL_v4_{category}.json"
        keys = [json.loads(line) for line in (folder / "possible_answer" / name).read_text().splitlines()]
        for line, key in zip((folder / name).read_text().splitlines(), keys, strict=True):
            functions = json.loads(line)["function"]
            print(json.dumps({"category": category, "functions": functions, "keys": key["ground_truth"]}))


if __name__ == "__main__":
    data() if sys.argv[1:] == ["data"] else main()
