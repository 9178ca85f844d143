"""HTTP interface of the older server, as used by the published `swecc-mesocosm` client."""
