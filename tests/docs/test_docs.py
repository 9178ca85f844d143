"""The pages are complete, point at things that exist, and show commands that work."""

import ast
import importlib.util
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import click
import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATOR = DOCS / "generate.py"
PAGES = sorted(DOCS.rglob("*.md"))
LINKED = [
    *PAGES,
    *(
        ROOT / name
        for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "AGENTS.md", "CODE_OF_CONDUCT.md")
    ),
    ROOT / "examples/README.md",
]
SHELL = ("", "sh", "console", "bash")

FENCE = re.compile(r"^```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(?P<text>.+?) *$", re.MULTILINE)
INLINE = re.compile(r"`(mesocosm [^`]+)`")


def loaded_generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("mesocosm_docs_generate", GENERATOR)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    return loaded_generator()


@pytest.fixture(scope="module")
def tree(generator: ModuleType) -> dict[str, click.Command]:
    return {context.command_path: context.command for context in generator.commands()}


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def without_code(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))


def anchors(page: Path) -> set[str]:
    """The anchors that a heading gets from GitHub: words in small letters, joined by hyphens."""
    headings = (match["text"] for match in HEADING.finditer(FENCE.sub("", page.read_text(encoding="utf-8"))))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_generated_parts_are_as_they_would_be_now(page: Path, generator: ModuleType) -> None:
    text = page.read_text(encoding="utf-8")
    assert generator.renewed(text) == text, f"{name_of(page)} is stale: run `python docs/generate.py`"


def test_the_words_of_the_web_app_are_as_they_would_be_now(generator: ModuleType) -> None:
    assert generator.WORDS.read_text(encoding="utf-8") == generator.web_words(), "run `python docs/generate.py`"


def test_every_generated_part_stands_on_a_page(generator: ModuleType) -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert set(re.findall(r"<!-- generated: ([\w-]+) -->", text)) == set(generator.PARTS)


def test_a_changed_part_is_noticed(generator: ModuleType) -> None:
    page = "<!-- generated: providers -->\nold\n<!-- end -->"
    assert generator.renewed(page) != page
    assert generator.renewed(generator.renewed(page)) == generator.renewed(page)


def test_every_command_and_flag_is_documented(tree: dict[str, click.Command]) -> None:
    page = (DOCS / "command-line.md").read_text(encoding="utf-8")
    missing = [path for path in tree if f"\n## {path}\n" not in page]
    common = {
        flag for option in tree["mesocosm demo"].params if getattr(option, "hidden", False) for flag in option.opts
    }
    for path, command in tree.items():
        section = page.partition(f"\n## {path}\n")[2].partition("\n## ")[0]
        for parameter in command.params:
            # What every command takes is told once, by the program itself; what else is hidden is for programs.
            hidden = getattr(parameter, "hidden", False)
            if hidden and not common & set(parameter.opts):
                continue
            told = page if hidden else section
            flags = [flag for flag in parameter.opts if flag.startswith("--")]
            missing += [f"{path} {flag}" for flag in flags if flag not in told]
    assert not missing


def test_every_flag_says_what_it_does(tree: dict[str, click.Command]) -> None:
    handwritten = (DOCS / "command-line.md").read_text(encoding="utf-8").partition("<!-- generated:")[0]
    silent = [
        f"{path} {parameter.opts[0]}"
        for path, command in tree.items()
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.help and f"`{parameter.opts[0]}`" not in handwritten
    ]
    assert not silent


@pytest.mark.parametrize("page", LINKED, ids=name_of)
def test_no_link_is_dead(page: Path) -> None:
    dead = []
    for match in LINK.finditer(without_code(page.read_text(encoding="utf-8"))):
        target = match["target"]
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        place = (page.parent / path).resolve() if path else page
        if not place.exists() or (anchor and anchor not in anchors(place)):
            dead.append(target)
    assert not dead


def test_the_index_names_every_page() -> None:
    index = DOCS / "README.md"
    linked = {(DOCS / match["target"]).resolve() for match in LINK.finditer(index.read_text(encoding="utf-8"))}
    assert {page.resolve() for page in PAGES if page != index} <= linked


def test_the_site_has_a_place_for_every_page() -> None:
    settings = ast.parse((DOCS / "conf.py").read_text(encoding="utf-8"))
    values = {ast.unparse(line.targets[0]): line.value for line in settings.body if isinstance(line, ast.Assign)}
    names = " ".join(ast.literal_eval(values["SECTIONS"]).values()).split()
    placed = {page for name in names for page in ROOT.glob(f"{name}.md")}
    assert {page for page in LINKED if page.name != "README.md"} <= placed


def shown_commands(page: Path) -> Iterator[list[str]]:
    """The words of every call of our program in the shell blocks of a page."""
    for block in FENCE.finditer(page.read_text(encoding="utf-8")):
        if block["language"] not in SHELL:
            continue
        for line in block["text"].replace("\\\n", " ").splitlines():
            yield from calls(line.removeprefix("$ "))


def calls(line: str) -> Iterator[list[str]]:
    try:
        lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
        lexer.whitespace_split = True
        words = list(lexer)
    except ValueError:
        return
    current: list[str] = []
    for word in [*words, ";"]:
        if not set(word) <= set(";&|<>"):
            current.append(word)
        elif current:
            if current[0] == "mesocosm":
                yield current[1:]
            current = []


def problem_of(words: list[str], tree: dict[str, click.Command]) -> str:
    """What the program would object to in a command line; it is parsed, and nothing is run."""
    path, context = "mesocosm", click.Context(tree["mesocosm"], info_name="mesocosm")
    while words and f"{path} {words[0]}" in tree:
        path, words = f"{path} {words[0]}", words[1:]
    try:
        tree[path].make_context(path, list(words), parent=context)
    except click.exceptions.Exit:
        return ""
    except click.ClickException as error:
        return f"{path} {' '.join(words)}: {error.format_message()}"
    return ""


@pytest.mark.parametrize("page", LINKED, ids=name_of)
def test_shown_commands_are_accepted(page: Path, tree: dict[str, click.Command]) -> None:
    problems = [problem for words in shown_commands(page) if (problem := problem_of(words, tree))]
    assert not problems


def test_a_wrong_command_would_be_noticed(tree: dict[str, click.Command]) -> None:
    assert "nonsense" in problem_of(["run", "local", "--nonsense"], tree)
    assert list(calls("cd x && mesocosm run list > y; mesocosm demo  # runs")) == [["run", "list"], ["demo"]]


@pytest.mark.parametrize("page", LINKED, ids=name_of)
def test_commands_in_running_text_exist_with_their_flags(page: Path, tree: dict[str, click.Command]) -> None:
    wrong = []
    for match in INLINE.finditer(FENCE.sub("", page.read_text(encoding="utf-8"))):
        words = match[1].split()
        path = words[0]
        for word in words[1:]:
            if f"{path} {word}" not in tree:
                break
            path = f"{path} {word}"
        known = {flag for parameter in tree[path].params for flag in parameter.opts} | {"--help"}
        unknown_flags = set(re.findall(r"--[a-z-]+", match[1])) - known
        named_command = len(words) == 1 or path != "mesocosm" or words[1].startswith("-") or words[1].isupper()
        if unknown_flags or not named_command:
            wrong.append(match[1])
    assert not wrong


@pytest.mark.parametrize("page", LINKED, ids=name_of)
def test_variables_that_are_named_are_read_somewhere(page: Path) -> None:
    named = set(re.findall(r"\b(?:MESOCOSM|OLLAMA)_[A-Z_]+[A-Z]\b", page.read_text(encoding="utf-8")))
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    assert not {name for name in named if name not in sources}
