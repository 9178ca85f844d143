"""The hosted models that the original platform ran, by id."""

FULL_BENCH_MODELS: tuple[str, ...] = (
    "anthropic/claude-sonnet-4-6",
    "openai/gpt-4o",
    "gemini/gemini-3.1-flash-lite",
)
"""The models of a full benchmark."""

EXTRA_MODEL_ALIASES: tuple[str, ...] = (
    "gemini/gemini-2.5-flash",
    "gemini/gemini-2.5-flash-lite",
    "gemini/gemini-3.1-flash-lite-preview",
    "gemini/gemini-3.5-flash",
    "gemini/gemini-flash-latest",
    "gemini/gemini-flash-lite-latest",
)
"""Further allowed models."""

ALLOWED_MODELS: frozenset[str] = frozenset((*FULL_BENCH_MODELS, *EXTRA_MODEL_ALIASES))
"""All hosted models that are allowed. Models on this machine are always allowed, others need `allow_any_model`."""

MODEL_LABELS: dict[str, str] = {
    "anthropic/claude-sonnet-4-6": "Claude Sonnet 4.6",
    "openai/gpt-4o": "GPT-4o",
    "gemini/gemini-3.1-flash-lite": "Gemini 3.1 Flash-Lite",
    "gemini/gemini-2.5-flash": "Gemini 2.5 Flash",
    "gemini/gemini-2.5-flash-lite": "Gemini 2.5 Flash-Lite",
    "gemini/gemini-3.1-flash-lite-preview": "Gemini 3.1 Flash-Lite (preview)",
    "gemini/gemini-3.5-flash": "Gemini 3.5 Flash",
    "gemini/gemini-flash-latest": "Gemini Flash (latest)",
    "gemini/gemini-flash-lite-latest": "Gemini Flash-Lite (latest)",
}
"""Display names of the models."""
