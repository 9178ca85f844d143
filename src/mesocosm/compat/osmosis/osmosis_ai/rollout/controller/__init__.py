"""The controller's side of the rollout protocol up to 0.3.2: receive the callbacks of rollouts, serve them a model."""

from .listener import CallbackListener
from .llm_bridge import LiteLLMBridge
from .store import CallbackStore, TerminalCallbackResult

__all__ = ["CallbackListener", "CallbackStore", "LiteLLMBridge", "TerminalCallbackResult"]
