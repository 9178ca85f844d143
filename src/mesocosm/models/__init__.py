"""Implementations of `core.ports.Model`: OpenAI-compatible endpoints, Ollama, LiteLLM, built-ins, replays."""
