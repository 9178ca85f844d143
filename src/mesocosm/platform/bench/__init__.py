"""The API of a platform: one file per resource. Its record of runs is in `platform.api`."""
