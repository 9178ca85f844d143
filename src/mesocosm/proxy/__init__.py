"""The recording model proxy: it records all calls between an external program and its model."""
