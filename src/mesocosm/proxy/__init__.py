"""The recording model proxy: between a foreign program and its model, everything that it asks is seen."""
