"""Environments of OpenEnv, played over their WebSocket: benchmark kind `openenv`."""
