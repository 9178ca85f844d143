"""Calls that models write as text: the formats of their families, and texts that only look like calls."""

import json
from typing import Any

import pytest

from mesocosm.agents.call_text import TextCall, marked_calls, read_calls
from mesocosm.agents.tool_text import calls_at_end, calls_in

OFFERED: dict[str, Any] = {
    "weather.get": {"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
    "ring": None,
}
ONE = [TextCall("weather.get", {"city": "Bern", "days": 3})]
TWO = [*ONE, TextCall("ring", {"at": [7, 30]})]
A, B = '{"city": "Bern", "days": 3}', '{"at": [7, 30]}'
CALL_A, CALL_B = f'{{"name": "weather.get", "arguments": {A}}}', f'{{"name": "ring", "arguments": {B}}}'
PARAMETERS_A, PARAMETERS_B = CALL_A.replace("arguments", "parameters"), CALL_B.replace("arguments", "parameters")
PYTHON_A, PYTHON_B = "weather.get(city='Bern', days=3)", "ring(at=[7, 30])"
TOOL_NAME = f'[{{"tool_call_id": "0", "tool_name": "weather.get", "parameters": {A}}}]'

NAMED_A, NAMED_B = CALL_A.replace('"name"', '"tool_name"'), CALL_B.replace('"name"', '"tool_name"')

# ruff: noqa: E501
FAMILIES = {
    "gemma": f"Let me see.\n```tool_code\n[{PYTHON_A}, {PYTHON_B}]\n```",
    "gemma, statements": f"```tool_code\n{PYTHON_A}\nprint({PYTHON_B})\n```",
    "gemma, no fence": f"[{PYTHON_A}, {PYTHON_B}]<end_of_turn>",
    "llama 3.1": f"<|python_tag|>{PARAMETERS_A}; {PARAMETERS_B}<|eom_id|>",
    "llama 3.1, no token": f"{PARAMETERS_A}; {PARAMETERS_B}",
    "llama 3.1, own functions": f"<function=weather.get>{A}</function><function=ring>{B}</function><|eot_id|>",
    "llama 3.2": f"[{PYTHON_A}, {PYTHON_B}]<|eot_id|>",
    "llama 4": f"<|python_start|>[{PYTHON_A}, {PYTHON_B}]<|python_end|>",
    "hermes": f"<tool_call>\n{CALL_A}\n</tool_call>\n<tool_call>\n{CALL_B}\n</tool_call><|im_end|>",
    "hermes, one line": f"I will.<tool_call>{CALL_A}</tool_call><tool_call>{CALL_B}</tool_call>",
    "hermes, never closed": f"<tool_call>\n{CALL_A}\n</tool_call>\n<tool_call>\n{CALL_B}",
    "hermes, no tags": f"{CALL_A}\n{CALL_B}",
    "hermes, python quotes": f"<tool_call>\n{CALL_A}\n</tool_call>\n<tool_call>\n{json.loads(CALL_B)}\n</tool_call>",
    "qwen3 coder": "<tool_call>\n<function=weather.get>\n<parameter=city>\nBern\n</parameter>\n<parameter=days>\n3\n"
    "</parameter>\n</function>\n</tool_call>\n<tool_call>\n<function=ring>\n<parameter=at>\n[7, 30]\n</parameter>\n"
    "</function>\n</tool_call>",
    "qwen3 coder, no tags": "<function=weather.get>\n<parameter=city>\nBern\n</parameter>\n<parameter=days>\n3\n</parameter>\n"
    "</function>\n<function=ring>\n<parameter=at>\n[7, 30]\n</parameter>\n</function>",
    "deepseek v3": "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>weather.get\n```json\n"
    f"{A}\n```<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>ring\n```json\n{B}\n```<｜tool▁call▁end｜>"
    "<｜tool▁calls▁end｜><｜end▁of▁sentence｜>",
    "deepseek v3, no tokens": f"functionweather.get\n```json\n{A}\n```\nfunctionring\n```json\n{B}\n```",
    "deepseek v3.1": f"Well.<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather.get<｜tool▁sep｜>{A}<｜tool▁call▁end｜>"
    f"<｜tool▁call▁begin｜>ring<｜tool▁sep｜>{B}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    "deepseek v3.1, no tokens": f"weather.get{A}\nring{B}",
    "deepseek v3.2": '<｜DSML｜function_calls>\n<｜DSML｜invoke name="weather.get">\n<｜DSML｜parameter name="city" string="true">'
    'Bern</｜DSML｜parameter>\n<｜DSML｜parameter name="days" string="false">3</｜DSML｜parameter>\n</｜DSML｜invoke>\n'
    '<｜DSML｜invoke name="ring">\n<｜DSML｜parameter name="at" string="false">[7, 30]</｜DSML｜parameter>\n'
    "</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    "glm 4.5": "<tool_call>weather.get\n<arg_key>city</arg_key>\n<arg_value>Bern</arg_value>\n<arg_key>days</arg_key>\n"
    "<arg_value>3</arg_value>\n</tool_call>\n<tool_call>ring\n<arg_key>at</arg_key>\n<arg_value>[7, 30]</arg_value>\n"
    "</tool_call>",
    "glm 4.5, no tags": "weather.get\n<arg_key>city</arg_key>\n<arg_value>Bern</arg_value>\n<arg_key>days</arg_key>\n"
    "<arg_value>3</arg_value>\nring\n<arg_key>at</arg_key>\n<arg_value>[7, 30]</arg_value>",
    "mistral": f"[TOOL_CALLS][{CALL_A}, {CALL_B}]</s>",
    "mistral, names": f"[TOOL_CALLS]weather.get[ARGS]{A}[TOOL_CALLS]ring[CALL_ID]a1b2c3d4e[ARGS]{B}</s>",
    "mistral, no tokens": f"[{CALL_A}, {CALL_B}]",
    "phi 4": f"functools[{CALL_A}, {CALL_B}]",
    "phi 4 mini": f"<|tool_call|>[{CALL_A}, {CALL_B}]<|/tool_call|>",
    "granite": f"<|tool_call|>[{CALL_A}, {CALL_B}]",
    "cohere": f"Plan: look.\nAction: ```json\n[{NAMED_A}, {NAMED_B}]\n```",
    "kimi k2": "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather.get:0<|tool_call_argument_begin|>"
    f"{A}<|tool_call_end|><|tool_call_begin|>functions.ring:1<|tool_call_argument_begin|>{B}<|tool_call_end|>"
    "<|tool_calls_section_end|>",
    "kimi k2, no tokens": f"functions.weather.get:0{A}\nfunctions.ring:1{B}",
    "minimax m1": f"<tool_calls>\n{CALL_A}\n{CALL_B}\n</tool_calls>",
    "minimax m2": '<minimax:tool_call>\n<invoke name="weather.get">\n<parameter name="city">Bern</parameter>\n'
    '<parameter name="days">3</parameter>\n</invoke>\n<invoke name="ring">\n<parameter name="at">[7, 30]</parameter>\n'
    "</invoke>\n</minimax:tool_call>",
    "xlam": f"[{CALL_A}, {CALL_B}]",
    "xlam, wrapped": f'{{"thought": "Both.", "tool_calls": [{CALL_A}, {CALL_B}]}}',
    "functionary 3.2": f">>>weather.get\n{A}\n>>>ring\n{B}",
    "nemotron": f"<TOOLCALL>[{CALL_A}, {CALL_B}]</TOOLCALL>",
    "lfm": f"<|tool_call_start|>[{PYTHON_A}, {PYTHON_B}]<|tool_call_end|>",
    "gpt-oss": f"<|channel|>commentary to=functions.weather.get <|constrain|>json<|message|>{A}<|call|>"
    f"<|start|>assistant<|channel|>commentary to=functions.ring <|constrain|>json<|message|>{B}<|call|>",
    "function gemma": "<start_function_call>call:weather.get{city:<escape>Bern<escape>,days:3}<end_function_call>"
    "<start_function_call>call:ring{at:[7,30]}<end_function_call>",
    "prompt of the leaderboard": f"```\n[{PYTHON_A}, {PYTHON_B}]\n```",
    "fenced json": f"```json\n[{CALL_A}, {CALL_B}]\n```",
    "two fences": f"```json\n{CALL_A}\n```\n```json\n{CALL_B}\n```",
}


def test_the_calls_of_every_family_are_read() -> None:
    assert [family for family, text in FAMILIES.items() if read_calls(text, OFFERED) != TWO] == []


def test_calls_of_cohere_s_newer_models_are_read() -> None:
    text = f"<|START_THINKING|>Hm.<|END_THINKING|><|START_ACTION|>{TOOL_NAME}<|END_ACTION|>"
    assert read_calls(text, OFFERED) == ONE
    assert read_calls('Action: ```json\n[{"tool_name": "directly-answer", "parameters": {}}]\n```', OFFERED) == []


@pytest.mark.parametrize("thought", ["<think>{}</think>\n", "{}</think>\n\n", "<thinking>I could:\n{}\n</thinking>"])
def test_calls_in_a_thought_do_not_count_and_those_after_it_do(thought: str) -> None:
    for family, text in FAMILIES.items():
        thinking = thought.format(text)
        assert read_calls(f"{thinking}I cannot do that.", OFFERED) == [], family
        assert read_calls(f"{thinking}{FAMILIES['hermes']}", OFFERED) == TWO, family
    assert read_calls(f"<think>{FAMILIES['hermes']}", OFFERED) == []


@pytest.mark.parametrize(
    "after", ["\nBut that cannot be done here.", " is how one would call it.", "\n\nNo function fits."]
)
def test_calls_that_a_reply_goes_on_talking_about_are_quotations(after: str) -> None:
    assert [text for text in FAMILIES.values() if read_calls(text + after, OFFERED)] == []


OTHERS = [
        "",
        "I can't make a <tool_call> for this.",
        f"The form is `<tool_call>{CALL_A}</tool_call>`",
        f'You asked for "<tool_call>{CALL_A}</tool_call>"',
        f"You can use {PYTHON_A}",
    f"You wrote:\n> <tool_call>{CALL_A}</tool_call>",
    f"<!-- <tool_call>{CALL_A}</tool_call> -->",
    f"~~<tool_call>{CALL_A}</tool_call>~~",
    json.dumps({"answer": f"call <tool_call>{CALL_A}</tool_call>"}),
    f"<tool_call>{CALL_A[:-8]}",
    f"[TOOL_CALLS]weather.get[ARGS]{A[:-1]}",
        f"weather.get: {A}",
        f"For example {CALL_A}",
        "<tool_call></tool_call>",
        "<tool_call>\nnothing\n</tool_call>",
        '<tool_call>{"name": </tool_call>',
        '<tool_call>\n{"error": "no function fits"}\n</tool_call>',
        "<tool_call>{'name': <function-name>, 'arguments': <args-json-object>}</tool_call>",
        "functools is a module of Python",
        "functools[0]",
        "[TOOL_CALLS]",
        "[TOOL_CALLS] are not possible",
        "<function=weather.get>",
        "<|python_tag|>print('hello')\nx = 1",
        "```tool_code\nx = weather\n```",
        "```python\nimport weather\nweather.get(city='Bern')\n```",
        'total{"city": "Bern"}',
        'Action: ```json\n[]\n```',
        '{"city": "Bern", "days": 3}',
        '[{"name": "Ada", "age": 3}]',
        '{"name": "Ada"}',
        "if weather.get(city='Bern'): ring()",
        "x = ring()",
        "<｜tool▁calls▁begin｜><｜tool▁calls▁end｜>",
        "<tool_call>" * 3000,
        "[TOOL_CALLS]weather.get[ARGS]" * 3000,
        "<function=a>{" * 3000,
        '<invoke name="a">' * 3000,
        "<|tool_call_begin|>functions.a:0<|tool_call_argument_begin|>" * 3000,
        "a" * 100_000,
        "[{" * 3000,
        ">>>" * 3000,
    ]  # fmt: skip


def test_other_texts_make_no_call() -> None:
    assert [text for text in OTHERS if read_calls(text, OFFERED)] == []


@pytest.mark.parametrize(
    "text",
    [
        f"<tool_call>{CALL_A.replace('weather.get', 'send')}</tool_call>",
        "[send(city='Bern', days=3)]",
        f"[TOOL_CALLS]send[ARGS]{A}",
        f"[{CALL_A.replace('weather.get', 'send')}]",
        f"<function=send>{A}</function>",
    ],
)
def test_calls_of_functions_that_are_not_offered_are_read_for_benchmarks_and_not_for_agents(text: str) -> None:
    assert [call.name for call in read_calls(text, OFFERED)] == ["send"]
    assert calls_in(text, OFFERED) == calls_at_end(text, OFFERED) == ()


def test_json_that_ends_a_reply_on_a_line_of_its_own_is_a_call() -> None:
    assert read_calls(f"I will look.\n```json\n{CALL_A}\n```\n```json\n{CALL_B}\n```", OFFERED) == TWO
    assert read_calls(f"I will look.\n{CALL_A}\n", OFFERED) == ONE
    assert read_calls(f"I will look.\n{CALL_A}\nOr not.", OFFERED) == []
    assert read_calls(f"The city is known:\n{A}", OFFERED) == []


def test_several_formats_in_one_reply_are_calls_in_their_order() -> None:
    text = f"<tool_call>{CALL_A}</tool_call>\n[TOOL_CALLS]ring[ARGS]{B}"
    assert read_calls(text, OFFERED) == TWO


def test_only_the_calls_at_the_end_count() -> None:
    text = f"First I thought of <tool_call>{CALL_B}</tool_call> and then:\n<tool_call>{CALL_A}</tool_call>"
    assert marked_calls(text, OFFERED) == ONE


def test_an_argument_may_hold_what_ends_a_call() -> None:
    call = '{"name": "ring", "arguments": {"at": "</tool_call> <|im_end|> ```"}}'
    assert read_calls(f"<tool_call>{call}</tool_call>", OFFERED) == [
        TextCall("ring", {"at": "</tool_call> <|im_end|> ```"})
    ]


def test_bare_text_of_a_parameter_is_text_where_that_is_its_type() -> None:
    text = "<function=weather.get><parameter=city>8000</parameter><parameter=days>3</parameter></function>"
    assert read_calls(text, OFFERED) == [TextCall("weather.get", {"city": "8000", "days": 3})]


def test_agents_get_the_calls_of_every_family() -> None:
    for family, text in FAMILIES.items():
        calls = calls_at_end(text, OFFERED)
        assert [TextCall(call.name, call.arguments) for call in calls] == TWO, family


def test_agents_do_not_act_on_calls_in_a_thought() -> None:
    for family, text in FAMILIES.items():
        assert calls_in(f"<think>{text}</think>I am done.", OFFERED) == (), family
