"""Runs llama.cpp's own HTTP server on a free port of loopback, and prints its address.

serve.py MODEL WINDOW [no-tools]: without the template language of Jinja the server takes no tools, as older ones by default.
It ends when its standard input does.
"""

import socket
import sys

import xllamacpp


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.n_ctx = int(sys.argv[2])
parameters.n_parallel = 1
parameters.n_batch = 4096
parameters.n_ubatch = 4096
parameters.port = free_port()
parameters.use_jinja = "no-tools" not in sys.argv
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
sys.stdin.read()
