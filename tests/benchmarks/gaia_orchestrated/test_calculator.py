"""The calculator: arithmetic, and nothing else."""

import pytest

from mesocosm.benchmarks.builtin.gaia_orchestrated.calculator import calculate
from mesocosm.benchmarks.orchestrated.tool import ToolError


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("2+3*4", 14),
        ("(3.5+9.5)*1.5+2*2", 23.5),
        ("-7 // 2", -4),
        ("2^10", 1024),
        ("round(61/(187/60), 2)", 19.57),
        ("ceil(80*2/3)", 54),
        ("mean(1, 2, 6) + sum(1, 2) + max(3, 4) - abs(-1)", 9),
    ],
)
def test_an_expression_has_its_value(expression: str, value: float) -> None:
    assert calculate(expression) == pytest.approx(value)


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "1 +",
        "1/0",
        "sqrt(-1)",
        "(-8)**0.5",
        "9**9**9",
        "10.0**400*10",
        "1e308*10",
        "x",
        "'a'*9",
        "True",
        "[1, 2]",
        "min()",
        "__import__('os').system('true')",
        "(1).__class__",
        "round(1.5, ndigits=1)",
        "lambda: 1",
        "1 if 1 else 2",
        "(" * 900,
        "1+" * 600 + "1",
    ],
)
def test_what_is_no_arithmetic_is_refused(expression: str) -> None:
    with pytest.raises(ToolError):
        calculate(expression)
