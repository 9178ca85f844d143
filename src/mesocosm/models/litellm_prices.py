"""Update the table of prices from the one that the installed LiteLLM ships: `make prices`. Nothing is downloaded.

    python -m mesocosm.models.litellm_prices [PROVIDER/MODEL …]

Entries of the table get today's prices and date; models that are named are added. What changes is printed. An entry
that LiteLLM does not know keeps its price and its date.
"""

import datetime
import importlib.util
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mesocosm.core.failure import UnknownName, UsageError
from mesocosm.core.registry import suggestion
from mesocosm.models.prices import Price

TABLE = Path(__file__).with_name("prices.json")
_SHIPPED = "model_prices_and_context_window_backup.json"
_PREFIXES = {"openai": "", "anthropic": "", "together": "together_ai/"}
"""What a provider's names begin with in LiteLLM; for all others, as here."""
_FIELDS = {
    "input": "input_cost_per_token",
    "output": "output_cost_per_token",
    "cached": "cache_read_input_token_cost",
    "written": "cache_creation_input_token_cost",
    "written_hour": "cache_creation_input_token_cost_above_1hr",
}
_LONG = re.compile(r"input_cost_per_token_above_(\d+)k_tokens")


def litellm_table() -> dict[str, Any]:
    """Return LiteLLM's table, without importing LiteLLM. Raises UsageError if it is not installed."""
    found = importlib.util.find_spec("litellm")
    if found is None or found.origin is None:
        raise UsageError("LiteLLM is not installed; install it with: pip install 'mesocosm[litellm]'")
    table: dict[str, Any] = msgspec.json.decode(Path(found.origin).with_name(_SHIPPED).read_bytes())
    return table


def litellm_name(name: str) -> str:
    """Return LiteLLM's name of a model in our table."""
    provider, _, model = name.partition("/")
    return f"{_PREFIXES.get(provider, f'{provider}/')}{model}"


def price_of(entry: Mapping[str, Any], as_of: str) -> Price | None:
    """Return the price that an entry of LiteLLM's table states, None if it states none for tokens of text.

    Of several lengths from which a prompt costs more, the first is taken.
    """
    if not isinstance(entry.get(_FIELDS["input"]), float | int) or _FIELDS["output"] not in entry:
        return None
    stated = {field: _dollars(entry.get(key)) for field, key in _FIELDS.items()}
    lengths = sorted(int(match[1]) for match in map(_LONG.fullmatch, entry) if match)
    if lengths:
        above = f"_above_{lengths[0]}k_tokens"
        stated["long_over"] = lengths[0] * 1000
        stated |= {f"long_{field}": _dollars(entry.get(f"{key}{above}")) for field, key in _FIELDS.items()}
    return msgspec.convert(
        {field: value for field, value in stated.items() if value is not None} | {"as_of": as_of}, Price
    )


def updated(
    table: Mapping[str, Price], theirs: Mapping[str, Any], added: Sequence[str], today: str
) -> tuple[dict[str, Price], list[str]]:
    """Return the table with today's prices and with the models of `added`, and what changed, as lines.

    Raises UnknownName for an added model without a price in LiteLLM's table.
    """
    new = dict(table)
    lines: list[str] = []
    for name in (*table, *(name for name in added if name not in table)):
        theirs_of = theirs.get(litellm_name(name))
        price = None if theirs_of is None else price_of(theirs_of, today)
        if price is not None:
            lines += _differences(name, table.get(name), price)
            new[name] = price
        elif name in table:
            lines.append(f"{name}: not in LiteLLM's table, so as on {table[name].as_of}")
        else:
            raise UnknownName(f"LiteLLM's table has no price of {name!r}{suggestion(litellm_name(name), list(theirs))}")
    return new, lines


def text_of(table: Mapping[str, Price]) -> str:
    """Return the table as JSON, one model on a line, by provider in the order of their first model and then by name."""
    providers = list(dict.fromkeys(name.partition("/")[0] for name in table))
    names = sorted(table, key=lambda name: (providers.index(name.partition("/")[0]), name))
    lines = (f"  {_json(name)}: {{{', '.join(_members(table[name]))}}}" for name in names)
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(added: Sequence[str]) -> None:
    """Write the table anew and print what changed."""
    before = msgspec.json.decode(TABLE.read_bytes(), type=dict[str, Price])
    table, lines = updated(before, litellm_table(), added, datetime.datetime.now(datetime.UTC).date().isoformat())
    TABLE.write_text(text_of(table), encoding="utf-8")
    sys.stdout.write("".join(f"{line}\n" for line in lines or ["no price has changed"]))


def _dollars(per_token: Any) -> float | None:
    """Return USD per million tokens, without the noise of the multiplication."""
    return float(f"{per_token * 1e6:.9g}") if isinstance(per_token, float | int) else None


def _differences(name: str, before: Price | None, now: Price) -> Iterator[str]:
    if before is None:
        yield f"{name}: new, {', '.join(_members(now))}"
        return
    for field in Price.__struct_fields__:
        old, new = getattr(before, field), getattr(now, field)
        if old != new and field != "as_of":
            yield f"{name}: {field} {_json(old)} -> {_json(new)}"


def _members(price: Price) -> Iterator[str]:
    defaults = dict(
        zip(Price.__struct_fields__[-len(Price.__struct_defaults__) :], Price.__struct_defaults__, strict=True)
    )
    order = ("input", "output", "cached", "written", "written_hour")
    for field in (*order, "long_over", *(f"long_{name}" for name in order), "as_of"):
        value = getattr(price, field)
        if field not in defaults or value != defaults[field]:
            yield f"{_json(field)}: {_json(value)}"


def _json(value: Any) -> str:
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    return msgspec.json.encode(whole).decode()


if __name__ == "__main__":
    main(sys.argv[1:])
