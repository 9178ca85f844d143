"""The HTTP interface of the older platform, as the published `swecc-mesocosm` client speaks it."""
