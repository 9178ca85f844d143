# mypy: ignore-errors
# ruff: noqa: ANN001, ANN003, ANN202
"""Tools in the form of the chat completions protocol."""


def _function(name, description, **properties):
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


TEXT, NUMBER = {"type": "string"}, {"type": "number"}
TOOLS = [
    _function("balance", "The balance of an account.", account=TEXT),
    _function("transfer", "Move an amount from one account to another.", source=TEXT, target=TEXT, amount=NUMBER),
]
