"""No module of mesocosm imports, on whatever way, a module that imports it. Imports inside functions count too.

Imports for type checkers alone (`if TYPE_CHECKING:`) do not count: nothing is loaded by them.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from mesocosm.core.source import syntax_tree

SOURCE = Path(__file__).parents[1] / "src"


def modules() -> dict[str, Path]:
    files = (SOURCE / "mesocosm").rglob("*.py")
    return {".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path for path in files}


def imports(node: ast.AST) -> Iterator[tuple[str, list[str]]]:
    """Yield the module and the names of each import below `node`; of `import a.b` the module alone."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
        children: list[ast.AST] = list(node.orelse)
    else:
        children = list(ast.iter_child_nodes(node))
    for child in children:
        if isinstance(child, ast.Import):
            yield from ((alias.name, []) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield child.module or "", [alias.name for alias in child.names]
        else:
            yield from imports(child)


def graph(files: dict[str, Path]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for module, path in files.items():
        edges = set()
        for source, names in imports(syntax_tree(path.read_text(encoding="utf-8"))):
            below = {f"{source}.{name}" for name in names}
            edges |= (below & files.keys()) or ({source} & files.keys())
        found[module] = edges - {module}
    return found


def circles(edges: dict[str, set[str]]) -> list[set[str]]:
    """Return the sets of nodes that reach each other: those that are left when nodes without a way on are removed."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            new = edges.get(waiting.pop(), set()) - seen
            seen |= new
            waiting += new
        return seen

    left = dict(edges)
    while ends := {node for node, targets in left.items() if not targets & left.keys()}:
        left = {node: targets for node, targets in left.items() if node not in ends}
    reach = {node: reached(node) for node in left}
    found: list[set[str]] = []
    for node in left:
        circle = {other for other in reach[node] if node in reach.get(other, set())}
        if node in circle and circle not in found:
            found.append(circle)
    return found


def test_no_modules_import_each_other() -> None:
    assert [sorted(circle) for circle in circles(graph(modules()))] == []


def test_a_circle_is_found_and_what_leads_to_it_is_not_part_of_it() -> None:
    edges = {"main": {"a"}, "a": {"b"}, "b": {"c"}, "c": {"a", "end"}, "end": set(), "alone": {"end"}}
    assert circles(edges) == [{"a", "b", "c"}]


def test_imports_inside_functions_count_and_those_for_type_checkers_do_not() -> None:
    source = """
import a.b
if TYPE_CHECKING:
    from typed import T
else:
    from loaded import L
def f():
    from inside import x, y
"""
    assert list(imports(ast.parse(source))) == [("a.b", []), ("loaded", ["L"]), ("inside", ["x", "y"])]
