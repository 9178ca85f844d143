"""Implementations of `core.ports.Model`: OpenAI-compatible endpoints, Anthropic, Ollama, LiteLLM, built-ins, replay."""
