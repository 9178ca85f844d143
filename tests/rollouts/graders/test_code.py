"""Programs that models wrote: what earns the reward, and what tries to."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from mesocosm.core.failure import UsageError
from mesocosm.rollouts import opening
from mesocosm.rollouts.graders.answer import MissingLabel
from mesocosm.rollouts.graders.code import CodeConfig, CodeGrader, CodeRule
from mesocosm.rollouts.graders.ready import GraderVerdict
from mesocosm.rollouts.graders.tests_of import read_tests
from mesocosm.sandboxes import bubblewrap
from mesocosm.sandboxes.bubblewrap import available
from mesocosm.sandboxes.languages import LANGUAGES
from mesocosm.testing.model_server import ModelServer

pytestmark = pytest.mark.skipif(not available(), reason=available().reason)

RIGHT = "def add(a, b):\n    return a + b\n"
TESTS = "assert add(1, 2) == 3\nassert add(-1, 1) == 0\nassert add('a', 'b') == 'ab'\nassert add([1], [2]) == [1, 2]"


async def graded(reply: str, label: str | None = TESTS, metadata: Any = None, **options: Any) -> GraderVerdict:
    return await CodeRule(CodeConfig(**options)).grade(reply, label, metadata)


@pytest.mark.parametrize(
    "reply", [RIGHT, f"Here it is:\n```python\n{RIGHT}```\nDone.", f"```\nfirst try\n```\n\n~~~py\n{RIGHT}~~~"]
)
async def test_a_program_that_passes_its_tests_earns_everything(reply: str) -> None:
    verdict = await graded(reply)
    assert (verdict.value, dict(verdict.scores)) == (1.0, {"tests_passed": 1.0})


async def test_some_tests_are_no_reward_unless_shares_are() -> None:
    half = "def add(a, b):\n    return int(a) + int(b)"
    verdict = await graded(half)
    assert (verdict.value, verdict.scores["tests_passed"]) == (0.0, 0.5)
    assert verdict.explanation.startswith("2 of 4 passed: assert add('a', 'b') == 'ab': ValueError")
    assert (await graded(half, reward="share")).value == 0.5


@pytest.mark.parametrize(
    "tests",
    [
        "def check(candidate):\n    assert candidate(1, 2) == 3",
        "import math\ncases = [(1, 2, 3)]\nfor a, b, c in cases:\n    assert add(a, b) == c",
        json.dumps(["assert add(1, 2) == 3", "assert add(2, 2) == 4"]),
        json.dumps([{"args": [1, 2], "expected": 3}, {"args": [1], "kwargs": {"b": 2}, "expected": 3}]),
        "try:\n    add(1)\nexcept TypeError:\n    pass\nelse:\n    assert False",
    ],
)
async def test_forms_of_tests(tests: str) -> None:
    assert (await graded(RIGHT, tests, entry_point="add")).value == 1.0
    assert (await graded("def add(a=0, b=0):\n    return 99", tests, entry_point="add")).value == 0.0


async def test_tests_and_function_from_metadata() -> None:
    held = {"tests": [{"args": [1, 2], "expected": 3}], "name": "add"}
    assert (await graded(RIGHT, None, held, tests_from="tests", entry_point_from="name")).value == 1.0


async def test_a_tuple_is_the_list_that_json_makes_of_it() -> None:
    tests = json.dumps([{"args": [], "expected": [1, 2]}])
    assert (await graded("def f():\n    return 1, 2", tests, entry_point="f")).value == 1.0


async def test_a_program_that_ends_is_no_exception_of_its_function() -> None:
    tests = "try:\n    f(-1)\nexcept Exception:\n    pass\nelse:\n    assert False"
    assert (await graded("def f(x):\n    raise ValueError", tests)).value == 1.0
    assert (await graded("import os\ndef f(x):\n    os._exit(0)", tests)).value == 0.0


async def test_whole_programs_are_talked_to() -> None:
    talk = json.dumps([{"stdin": "2 3\n", "stdout": "5\n"}, {"stdin": "4 4\n", "stdout": "8"}])
    assert (await graded("a, b = map(int, input().split())\nprint(a + b)", talk)).value == 1.0
    assert (await graded("print(5)", talk)).scores["tests_passed"] == 0.5
    assert (await graded("print(8)\nraise SystemExit(1)", talk)).value == 0.0


CHEATS = {
    "says OK": "print('OK')\nprint('4 passed')",
    "exits well": "import sys\nsys.exit(0)",
    "leaves at once": "import os\nos._exit(0)",
    "equal to everything": (
        "class Any:\n    def __eq__(self, other):\n        return True\n    def __hash__(self):\n        return 0\n"
        "def add(a, b):\n    return Any()"
    ),
    "equal to everything as a text": (
        "class Any(str):\n    def __eq__(self, other):\n        return True\n    __hash__ = str.__hash__\n"
        "def add(a, b):\n    return Any('x')"
    ),
    "patches the runner": (
        "import __main__\n__main__.check = lambda *a: None\n__main__.results = lambda item, answer: [''] * 4\n"
        "def add(a, b):\n    return None"
    ),
    "patches built-ins": "import builtins\nbuiltins.AssertionError = StopIteration\ndef add(a, b):\n    return None",
    "patches what is encoded": (
        "import __main__\n__main__.encode = lambda value: {'opaque': 0}\ndef add(a, b):\n    return None"
    ),
    "raises an end of loops": "def add(a, b):\n    raise StopIteration",
    "writes verdicts": (
        "import os, json\n"
        "for number in range(0, 64):\n"
        "    try:\n"
        "        os.write(number, json.dumps({'token': '', 'results': ['', '', '', '']}).encode() + b'\\n')\n"
        "    except OSError:\n"
        "        pass\n"
        "def add(a, b):\n    return None"
    ),
    "looks for the tests": (
        "import os\n"
        "def add(a, b):\n"
        "    with open(f'/proc/{os.getppid()}/mem', 'rb') as memory:\n"
        "        return memory.read(1)"
    ),
    "kills its parent": "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\ndef add(a, b):\n    return None",
    "reads callers": (
        "import sys\n"
        "def add(a, b):\n"
        "    frame = sys._getframe()\n"
        "    while frame:\n"
        "        if 'expected' in frame.f_locals:\n"
        "            return frame.f_locals['expected']\n"
        "        frame = frame.f_back\n"
    ),
    "defines the tests": "def check(candidate):\n    pass\nassert_ = None\ndef add(a, b):\n    return None",
    "never ends": "def add(a, b):\n    while True:\n        pass",
    "never starts": "while True:\n    pass",
    "takes all memory": "def add(a, b):\n    return [0] * 10**10",
    "floods": "def add(a, b):\n    return 'x' * 50_000_000",
    "forks": "import os\nfor _ in range(100):\n    os.fork()\ndef add(a, b):\n    return None",
    "is no program": "The answer is add.",
    "is another function": "def sub(a, b):\n    return a + b",
}


@pytest.mark.parametrize("cheat", CHEATS)
async def test_a_cheat_earns_nothing(cheat: str) -> None:
    verdict = await graded(CHEATS[cheat], seconds=1, memory_mb=256)
    assert verdict.value == 0.0
    assert verdict.scores["tests_passed"] == 0.0


async def test_a_program_reaches_no_files_and_no_network(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("42")
    with ModelServer() as server:
        program = (
            "import os, socket\n"
            "def has(path):\n    return os.path.exists(path)\n"
            "def reaches(port):\n"
            "    with socket.socket() as it:\n        return it.connect_ex(('127.0.0.1', port)) == 0\n"
        )
        tests = f"assert not has({str(tmp_path / 'secret')!r})\nassert not reaches({server.port})\nassert has('/usr')"
        assert (await graded(program, tests)).value == 1.0


@pytest.mark.parametrize(
    "tests",
    [
        *(None, "", "   ", "assert (", "x = 1", "assert True", "assert len('x') == 1", "[", "[1, 2]"),
        '[{"stdin": "", "stdout": ""}]',
        '[{"args": [1], "expected": 1}]',
        "def check(candidate):\n    pass",
    ],
)
async def test_tests_that_any_program_would_pass_are_the_rows_fault(tests: str | None) -> None:
    with pytest.raises(MissingLabel):
        await graded(RIGHT, tests)


async def test_a_row_that_does_not_name_its_function_is_at_fault() -> None:
    with pytest.raises(MissingLabel, match="should name the function"):
        await graded(RIGHT, TESTS, {"name": "no name"}, entry_point_from="name")


async def test_where_nothing_is_confined_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    # Whoever is imported now has the real one by its name, and keeps it.
    import_module("mesocosm.sandboxes.programs")
    monkeypatch.setattr(bubblewrap, "available", lambda: bubblewrap.Available("there is no bubblewrap"))
    with pytest.raises(RuntimeError, match="unsafe = true"):
        await graded(RIGHT)
    assert (await graded(RIGHT, unsafe=True)).value == 1.0


def test_every_assertion_is_a_test_of_its_own() -> None:
    found = read_tests(
        "import math\n\ndef close(a, b):\n    return a - b < 1\n\nassert close(f(1), 2)\nassert f(2) == 3", ""
    )
    assert len(found.calls) == 2
    assert found.names == ("f",)
    assert "def close" in found.setup


SUMS = json.dumps([{"stdin": "40 2\n", "stdout": "42"}])
PROGRAMS = {
    "javascript": "const [a, b] = require('fs').readFileSync('/dev/stdin', 'utf8').split(' ').map(Number);\n"
    "console.log(a + b);",
    "bash": "read a b\necho $((a + b))",
    "c": '#include <stdio.h>\nint main(void) { int a, b; scanf("%d %d", &a, &b); printf("%d\\n", a + b); return 0; }',
    "cpp": "#include <iostream>\nint main() { int a, b; std::cin >> a >> b; std::cout << a + b << std::endl; }",
    "rust": "fn main() { let mut line = String::new(); std::io::stdin().read_line(&mut line).unwrap();\n"
    'let sum: i64 = line.split_whitespace().map(|x| x.parse::<i64>().unwrap()).sum(); println!("{}", sum); }',
    "java": "import java.util.Scanner;\npublic class Sum { public static void main(String[] words) {\n"
    "Scanner in = new Scanner(System.in); System.out.println(in.nextInt() + in.nextInt()); } }",
}


def needs(language: str) -> None:
    if LANGUAGES[language].path() is None:
        pytest.skip(f"{LANGUAGES[language].tool} is not installed")


@pytest.mark.parametrize("language", PROGRAMS)
async def test_whole_programs_in_other_languages(language: str) -> None:
    needs(language)
    program = PROGRAMS[language]
    reply = f"Here it is.\n```{language}\n{program}\n```\nRun it:\n```text\n./main\n```"
    assert (await graded(reply, SUMS, language=language)).value == 1.0
    assert (
        await graded(
            program.replace("+ b", "- b").replace("sum()", "product()").replace("+ in", "- in"), SUMS, language=language
        )
    ).value == 0.0


async def test_an_answer_may_choose_its_language_by_its_fence() -> None:
    reply = f"```sh\n{PROGRAMS['bash']}\n```\nIt prints:\n```\n42\n```"
    assert (await graded(reply, SUMS, language="any")).value == 1.0
    assert (await graded(f"```\n{RIGHT}```", language="any")).value == 1.0
    assert (await graded("```bash\nadd() { echo 3; }\n```", language="any")).value == 0.0


ONE = json.dumps([{"stdin": "7\n", "stdout": "49\n"}])
FOREIGN_CHEATS = {
    "bash says OK": ("bash", "echo OK; echo passed; exit 0"),
    "bash looks for what is expected": ("bash", "grep -rs 49 /proc/*/environ /proc/*/cmdline /tmp /etc | tail -1"),
    "bash writes to its parents": ("bash", "for fd in /proc/*/fd/1; do echo 49 > $fd; done; exit 1"),
    "bash forks": ("bash", "f() { f | f & }; f"),
    "bash floods": ("bash", "yes 49"),
    "bash says all": ("bash", "seq 0 100"),
    "c leaves at once": ("c", "int main(void) { return 0; }"),
    "c does not compile": ("c", "int main(void) { return 49 }"),
    "c compiles files": ("c", '#include "/etc/passwd"\nint main(void) { return 0; }'),
    "c crashes behind the answer": (
        "c",
        '#include <stdio.h>\nint main(void) { puts("49"); fflush(stdout); return *(volatile int *)0; }',
    ),
    "javascript exits well": ("javascript", "process.exit(0)"),
    "javascript takes all memory": ("javascript", "const all = []; for (;;) all.push(new Array(1e6).fill(1));"),
    "javascript ends badly": ("javascript", "console.log(49); process.exit(3)"),
    "javascript looks around": (
        "javascript",
        "for (const p of fs.readdirSync('/proc')) try { console.log(fs.readFileSync(`/proc/${p}/environ`)); } catch {}",
    ),
}


@pytest.mark.parametrize("cheat", FOREIGN_CHEATS)
async def test_a_cheat_in_another_language_earns_nothing(cheat: str) -> None:
    language, program = FOREIGN_CHEATS[cheat]
    needs(language)
    assert (await graded(program, ONE, language=language, seconds=1, memory_mb=128)).value == 0.0


ADDS = json.dumps([{"args": [1, 2], "expected": 3}, {"args": ["a", "b"], "expected": "ab"}])
JAVASCRIPT = (
    "function add(a, b) { return a + b; }",
    "const fs = require('fs'), held = [], named = 1; const add = (a, b) => a + b;",
    "export async function add(a, b) { return a + b }",
    "module.exports = { add: (a, b) => a + b };",
    "console.log('loaded'); let add = function (a, b) { console.log(a); return a + b; };",
)


async def test_functions_in_javascript() -> None:
    needs("javascript")
    for program in JAVASCRIPT:
        verdict = await graded(f"```js\n{program}\n```", ADDS, language="javascript", entry_point="add")
        assert verdict.value == 1.0, (program, verdict.explanation)
    assert (
        await graded(JAVASCRIPT[0], "assert add([1], 2) == '12'\nassert add(2, 2) == 4", language="js")
    ).value == 1.0


JAVASCRIPT_CHEATS = {
    "exits well": "process.exit(0)",
    "equal to everything": "function add() { return { valueOf: () => 3, toString: () => 'ab', toJSON: () => 3 }; }",
    "a proxy": "function add() { return new Proxy({}, { get: () => 3, ownKeys: () => [] }); }",
    "patches what is encoded": "JSON.stringify = () => '{\"value\": 3}'; function add() { return 1; }",
    "writes verdicts": (
        "for (let n = 0; n < 64; n++) try {\n"
        "fs.writeSync(n, JSON.stringify({ token: '', results: ['', ''] }) + '\\n'); } catch {}\nfunction add() {}"
    ),
    "answers before it is asked": (
        "for (let n = 0; n < 9; n++) fs.writeSync(31, '{\"value\": 3}\\n');\nfunction add() { return 3; }"
    ),
    "reads memory": "function add() { return fs.readFileSync(`/proc/${process.ppid}/mem`).length; }",
    "reads the tests": "function add() { return fs.readdirSync('.').map((f) => fs.readFileSync(f, 'utf8')); }",
    "kills its parent": "process.kill(process.ppid, 'SIGKILL'); function add() {}",
    "never ends": "function add() { for (;;); }",
    "never resolves": "function add() { return new Promise(() => {}); }",
    "takes all memory": "function add() { for (const all = []; ; ) all.push(new Array(1e6).fill(1)); }",
    "floods": "function add() { return 'x'.repeat(5e7); }",
    "nests": "function add() { let a = []; for (let n = 0; n < 1e5; n++) a = [a]; return a; }",
    "is no program": "The answer is add.",
    "is another function": "function sub(a, b) { return a + b; }",
    "throws": "function add() { throw 3; }",
    "forges an object": 'function add() { fs.writeSync(31, \'{"value": {"object": 0}}\\n\'); }',
}


@pytest.mark.parametrize("cheat", JAVASCRIPT_CHEATS)
async def test_a_cheat_in_javascript_earns_nothing(cheat: str) -> None:
    needs("javascript")
    options: dict[str, Any] = {"language": "javascript", "entry_point": "add", "seconds": 1, "memory_mb": 128}
    assert (await graded("var fs = require('fs');\n" + JAVASCRIPT_CHEATS[cheat], ADDS, **options)).value == 0.0


STACK = """
class Stack:
    def __init__(self, *items):
        self.items = list(items)
    def push(self, item):
        self.items.append(item)
    def pop(self):
        return self.items.pop()
    def __len__(self):
        return len(self.items)
    def __iter__(self):
        return iter(self.items)
    def __eq__(self, other):
        return self.items == other.items
    def __str__(self):
        return str(self.items)
    @staticmethod
    def of(items):
        return Stack(*items)
def top(stack):
    return stack.items[-1]
"""
ABOUT_STACKS = (
    "def check(kind):\n    s = kind(1)\n    s.push(2)\n    assert len(s) == 2 and s.items == [1, 2]\n"
    "    assert list(s) == [1, 2] and 2 in s and 3 not in s\n    assert s.pop() == 2 and not Stack() and s\n"
    "    assert s == Stack(1) and s != Stack(2) and s != [1] and isinstance(s, Stack)\n"
    "    assert str(s) == '[1]' and Stack.of([3]).pop() == 3 and top(Stack(4)) == 4\n"
    "    try:\n        Stack().pop()\n    except IndexError:\n        pass\n    else:\n        assert False"
)


async def test_a_class_is_tested_by_its_objects() -> None:
    verdict = await graded(STACK, ABOUT_STACKS, entry_point="Stack")
    assert verdict.value == 1.0, verdict.explanation


STEPS = json.dumps(
    [{"args": [], "steps": [["push", 5], ["push", 6], ["pop"], ["pop"]], "expected": [None, None, 6, 5]}]
)


async def test_a_class_is_tested_by_steps_in_both_languages() -> None:
    assert (await graded(STACK, STEPS, entry_point="Stack")).value == 1.0
    assert (await graded(STACK.replace(".pop()", "[0]"), STEPS, entry_point="Stack")).value == 0.0
    needs("javascript")
    stack = "class Stack { #all = []; push(x) { this.#all.push(x); } pop() { return this.#all.pop(); } }"
    assert (await graded(stack, STEPS, entry_point="Stack", language="javascript")).value == 1.0
    wrong = stack.replace("pop();", "shift();")
    assert (await graded(wrong, STEPS, entry_point="Stack", language="javascript")).value == 0.0


LIAR = """
class Liar:
    def __getattr__(self, name):
        return lambda *arguments, **named: Liar()
    def __eq__(self, other):
        return True
    def __ne__(self, other):
        return False
    def __len__(self):
        return 2
    def __iter__(self):
        return iter([Liar(), Liar()])
    def __contains__(self, item):
        return True
    def __lt__(self, other):
        return True
    __gt__ = __le__ = __ge__ = __lt__
    def __hash__(self):
        return 0
    def __bool__(self):
        return True
    def __str__(self):
        return 'x'
"""


@pytest.mark.parametrize(
    "test",
    [
        *(
            "f(1) == 3",
            "3 == f(1)",
            "3 in f(1)",
            "f(1) in [3]",
            "list(f(1)) == [1, 2]",
            "f(1) < 4",
            "f(1) > 2",
            "f(1).x == 3",
            "f(1)[0] == 3",
        ),
        *(
            "f(1) != f(1)",
            "f(1) == {'a': 1}",
            "{f(1): 1} == {3: 1}",
            "sorted(f(1)) == [1, 2]",
            "f(1).items() == []",
            "str(f(1)) == '3'",
        ),
        *(
            "f(1) is None",
            "isinstance(f(1), int)",
            "f(1) + 1 == 4",
            "f(1)() == 3",
            "max(f(1), 3) == 3",
            "len(f(1)) == 3",
        ),
    ],
)
async def test_an_object_that_claims_everything_passes_no_test_about_data(test: str) -> None:
    program = f"{LIAR}\ndef f(x):\n    return Liar()"
    assert (await graded(program, f"assert {test}")).value == 0.0


FENCED = (
    f"Use it so:\n```bash\npython add.py\n```\n```python3\n{RIGHT}```\nIt prints:\n```text\n3\n```",
    f"<think>```python\ndef add(a, b): return 0\n```</think>\n```py\n{RIGHT}```",
    f"Here is the function:\n\n{RIGHT}\n\nIt adds both.",
    f"```{{.python .numberLines}}\n{RIGHT}```",
    f"```Python title=add.py\n{RIGHT}",
    f"~~~~python\n{RIGHT}~~~~",
    f"1. First:\n   ```python\n{RIGHT}   ```",
)


async def test_the_program_is_found_in_all_forms_of_replies() -> None:
    rule = CodeRule(CodeConfig())
    assert [reply for reply in FENCED if rule.program(reply).strip() != RIGHT.strip()] == []


@pytest.mark.parametrize(
    ("options", "label", "metadata"),
    [
        ({"language": "c"}, ADDS, None),
        ({"language_from": "lang"}, SUMS, {"lang": "cobol"}),
        ({"entry_point": "S"}, '[{"steps": [["a"]], "expected": []}]', None),
        ({"entry_point": "S"}, '[{"steps": [["a"]], "expected": [null]}]', None),
        ({"entry_point": "S"}, '[{"steps": [[]], "expected": [1]}]', None),
    ],
)
async def test_rows_that_cannot_be_tested_are_at_fault(options: dict[str, Any], label: str, metadata: Any) -> None:
    with pytest.raises(MissingLabel):
        await graded(RIGHT, label, metadata, **{"entry_point": "add", **options})


def test_a_language_that_is_not_installed_is_told_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert "needs node" in CodeGrader(language="js").lacking()
    with pytest.raises(UsageError, match="needs node"):
        opening._grader({"use": "code", "language": "js"})


def test_a_language_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValidationError, match="must be one of python, javascript"):
        CodeConfig(language="cobol")
