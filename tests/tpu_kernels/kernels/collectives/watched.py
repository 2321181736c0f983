"""Runs kernels with faults in jax's interpreter, and says of each what went wrong: a program, started by :mod:`faults`.

A stall is no guess from a clock alone: devices are stopped in a wait, and for :data:`PATIENCE` seconds no device has
begun or ended anything. Which phase a device waits in is the named scope of the kernel that asked for the wait.
"""

import contextlib
import io
import json
import os
import sys
import threading
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import source_info_util
from jax._src.pallas.mosaic.interpret import interpret_pallas_call as interpreter

from tests.tpu_kernels.kernels.collectives import oracle
from tests.tpu_kernels.kernels.collectives.faults import FAULTS, NONE, RUNS, Fault

PATIENCE = 5
LATE = 60  # seconds that a device comes late at most
SIGNS = {"race": "RACE DETECTED", "left": "non-zero count"}  # what the interpreter prints
WAITS = ("semaphore_wait", "dma_wait")
DMA: Any = interpreter.DMA
DEVICES = 8


class Scopes:
    """Stands before jax's module of names: which named scope of a kernel the interpreter is at, as it traces it."""

    def __init__(self) -> None:
        self.names: list[str] = []  # an equation's, and those of the loops and branches around it

    def __getattr__(self, name: str) -> Any:
        return getattr(source_info_util, name)

    @contextlib.contextmanager
    def user_context(self, traceback: Any, *, name_stack: Any = None) -> Iterator[None]:
        """As jax's, which the interpreter is in while it is at an equation."""
        before = len(self.names)
        self.names += [name for name in str(name_stack or "").split("/") if name]
        with source_info_util.user_context(traceback, name_stack=name_stack):
            yield
        del self.names[before:]

    @property
    def phase(self) -> str:
        """The named scopes that it is in."""
        return "/".join(self.names)


class Watch:
    """Stands between the interpreter and its callbacks: who waits in which phase, and whether anything moves."""

    def __init__(self, say: Any) -> None:
        self.say, self.scopes = say, Scopes()
        self.waiting: dict[int, str] = {}
        self.begin("")
        self.moved = threading.Event()
        self.callbacks, self.write = interpreter.callback, DMA.execute_write
        threading.Thread(target=self.look, daemon=True).start()

    def begin(self, name: str) -> None:
        """The next fault's runs follow."""
        self.result: dict[str, Any] = {"name": name, "runs": [], "stopped": None, "phases": []}
        self.sent = [threading.Event() for _ in range(DEVICES)]  # something, to this device

    def __getattr__(self, name: str) -> Any:
        return getattr(self.callbacks, name)

    def io_callback(self, act: Any, shape: Any, token: Any, *values: Any, **options: Any) -> Any:
        """As jax's, of a device that is known while it waits."""
        name = getattr(getattr(act, "func", act), "__name__", "")
        waits, where = name in WAITS, self.scopes.phase

        def watched(token: Any, *values: Any) -> Any:
            self.moved.set()
            if waits:
                self.waiting[int(values[0])] = where
            try:
                return act(token, *values)
            finally:
                if waits:
                    del self.waiting[int(values[0])]
                self.moved.set()

        return self.callbacks.io_callback(watched, shape, token, *values, **options)

    def execute_write(self, copy: Any) -> None:
        """As jax's, of a copy that arrives; a device may have waited for it."""
        try:
            self.write(copy)
        except Exception:
            for sent in self.sent:  # nobody need wait any more
                sent.set()
            raise
        if copy.src_device_id != copy.dst_device_id:
            self.sent[copy.dst_device_id].set()

    def look(self) -> None:
        """Ends the process when nothing moves any more."""
        while True:
            if not self.moved.wait(PATIENCE) and self.waiting:
                phases = sorted(set(self.waiting.values()))
                self.say({**self.result, "stopped": "stall", "phases": phases})
                os._exit(0)
            self.moved.clear()


def program(fault: Fault, package: str, watch: Watch) -> Any:
    """The fault's collective on its devices; one of them may come late: after something has been sent to it."""
    collectives = import_module(package)
    how = dict(fault.run)
    devices, late, name = how.pop("devices"), how.pop("late", None), how.pop("collective")
    how.pop("eager", None)
    act = getattr(collectives, name)

    def wait(held: Any, device: Any) -> Any:
        if int(device) == late:
            watch.sent[late].wait(LATE)
        return held

    def local(held: jax.Array) -> jax.Array:
        if late is not None:
            held = jax.pure_callback(wait, jax.ShapeDtypeStruct(held.shape, held.dtype), held, jax.lax.axis_index("x"))
        return act(held, "x", **how)

    return oracle.program(local, {"x": devices})


def main(folder: str, *names: str) -> None:
    """For each name a line of JSON: the signs that each run showed, what stopped it, and in which phases."""
    jax.config.update("jax_num_cpu_devices", DEVICES)
    jax.config.update("jax_platforms", "cpu")
    out = sys.stdout

    def say(result: dict[str, Any]) -> None:
        out.write(json.dumps(result) + "\n")
        out.flush()

    watch = Watch(say)
    interpreter.callback, interpreter.source_info_util = watch, watch.scopes
    DMA.execute_write = lambda copy: watch.execute_write(copy)
    for name in names:
        fault = FAULTS.get(name, NONE)
        watch.begin(name)
        run = program(fault, fault.planted(Path(folder)), watch)
        collective, devices = fault.run["collective"], fault.run["devices"]
        held = np.arange(devices * devices * 1024, dtype=np.float32).reshape(devices, -1)
        for _ in range(RUNS):
            with contextlib.redirect_stdout(io.StringIO()) as said:
                try:
                    got = np.asarray(run(jnp.asarray(held)))
                except Exception as error:  # noqa: BLE001 -- whatever it is, it is this fault's result
                    say({**watch.result, "stopped": "error", "phases": [str(error).strip().splitlines()[-1]]})
                    os._exit(0)
            signs = [sign for sign, text in SIGNS.items() if text in said.getvalue()]
            right = np.array_equal(got, oracle.expected(collective, held, {"x": devices}, ("x",)))
            watch.result["runs"].append(signs if right else ["value", *signs])
        say(watch.result)


if __name__ == "__main__":
    main(*sys.argv[1:])
