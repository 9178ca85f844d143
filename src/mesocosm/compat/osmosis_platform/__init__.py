"""HTTP interface that the published `osmosis` command line calls (package `osmosis-ai`), over the granted objects."""
