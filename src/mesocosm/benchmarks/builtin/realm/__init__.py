"""Planning with hard feasibility checks: eleven problems of eight families, each with its own exact oracle."""
