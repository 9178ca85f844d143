"""Names of `osmosis_ai.rollout.integrations.agents.strands`."""

from mesocosm.rollouts.sdk.adapters.strands import OsmosisRolloutModel, OsmosisStrandsAgent

__all__ = [
    "OsmosisRolloutModel",
    "OsmosisStrandsAgent",
]
