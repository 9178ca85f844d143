"""Serve a GGUF file with llama.cpp's own server until this process is killed.

`python llama_server.py FILE NAME CONTEXT PORT KEY`, with `xllamacpp` installed, which brings the server as a library.
"""

import signal
import sys

import xllamacpp

file, name, context, port, key = sys.argv[1:]
settings = xllamacpp.CommonParams()
settings.model.path = file
settings.model_alias = {name}
settings.n_ctx = int(context)
settings.hostnames = ["127.0.0.1"]
settings.port = int(port)
settings.api_keys = [key]
settings.sampling.seed = 1
settings.warmup = False
# One thread is plenty for a tiny model; more of them would spin while the tests want the processors.
settings.cpuparams.n_threads = settings.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(settings)
signal.pause()
