"""Variables that disable the telemetry of agent frameworks.

The proxy records a run; prompts, replies and rows are sent to no other place unless you set these variables. The names
are taken from the source of the packages.
"""

from collections.abc import Mapping

OFF: Mapping[str, str] = {
    # openai-agents: traces go to api.openai.com with the value of OPENAI_API_KEY.
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    # langsmith, used by langchain-core: the newer names take precedence.
    "LANGSMITH_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGCHAIN_TRACING": "false",
    # opentelemetry-sdk, the exporter of Strands, the rollout server of osmosis-ai and others.
    "OTEL_SDK_DISABLED": "true",
    "OTEL_TRACES_EXPORTER": "none",
    "OTEL_METRICS_EXPORTER": "none",
    "OTEL_LOGS_EXPORTER": "none",
    # litellm downloads its price list when it is imported.
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    # crewai, whose telemetry has its own exporter.
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_DISABLE_TRACKING": "true",
    "CREWAI_TRACING_ENABLED": "false",
    # Hugging Face libraries, and packages that follow the common convention.
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
}
"""Default variables of an external process."""
