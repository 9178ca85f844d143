"""Variables that switch off what agent frameworks send to their vendors.

A run is recorded by the proxy; prompts, replies and rows are sent nowhere else unless you set these variables. The
names are taken from the source of the packages.
"""

from collections.abc import Mapping

OFF: Mapping[str, str] = {
    # openai-agents: traces go to api.openai.com with the value of OPENAI_API_KEY.
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    # langsmith, which langchain-core asks: the newer names go before the older ones.
    "LANGSMITH_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGCHAIN_TRACING": "false",
    # opentelemetry-sdk, by which Strands, the rollout server of osmosis-ai and others export.
    "OTEL_SDK_DISABLED": "true",
    "OTEL_TRACES_EXPORTER": "none",
    "OTEL_METRICS_EXPORTER": "none",
    "OTEL_LOGS_EXPORTER": "none",
    # litellm reads its price list from the network when it is imported.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    # crewai, whose telemetry has an exporter of its own.
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_TRACKING": "true",
    "CREWAI_TRACING_ENABLED": "false",
    # Hugging Face libraries, and what follows the common convention.
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
}
"""Defaults for the variables of a foreign process."""
