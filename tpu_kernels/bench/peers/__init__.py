"""Other libraries' collectives, as programs of their own: ``python -m tpu_kernels.bench.peers.gloo '<job>'``.

Each rank is a process that makes, checks and times what :mod:`collective_case` says; the first prints a line of JSON.
"""
