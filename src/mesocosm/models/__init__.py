"""Implementations of `core.ports.Model`: OpenAI-compatible, Anthropic, Google, Ollama, LiteLLM, built-ins, replays."""
