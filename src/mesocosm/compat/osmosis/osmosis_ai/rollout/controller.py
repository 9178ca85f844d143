"""Names of `osmosis_ai.rollout.controller`."""

from mesocosm.rollouts.sdk.controller import CallbackListener, CallbackStore, LiteLLMBridge, TerminalCallbackResult

__all__ = [
    "CallbackListener",
    "CallbackStore",
    "LiteLLMBridge",
    "TerminalCallbackResult",
]
