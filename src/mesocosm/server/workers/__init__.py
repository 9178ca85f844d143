"""Worker processes, which build environments and execute runs. Start reading at `worker`."""
