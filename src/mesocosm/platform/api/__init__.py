"""The routes of the API: one module for each resource. Each answers with a document and does nothing else."""
