"""Worker processes, which build environments and play runs. Start reading at `worker`."""
