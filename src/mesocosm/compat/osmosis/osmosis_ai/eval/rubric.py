"""Names of `osmosis_ai.eval.rubric`."""

from mesocosm.rollouts.sdk.rubric import (
    MissingAPIKeyError,
    ModelNotFoundError,
    ProviderRequestError,
    RubricResult,
    evaluate_rubric,
)

__all__ = [
    "MissingAPIKeyError",
    "ModelNotFoundError",
    "ProviderRequestError",
    "RubricResult",
    "evaluate_rubric",
]
