"""Busy time read from a profile: devices only, overlaps once."""

import jax.numpy as jnp
from jax.profiler import ProfileData

from tpu_kernels.bench.device_time import busy_seconds, device_seconds


def profile(*planes):
    """A profile with planes of the form (name, {line: [(start ns, duration ns), …]})."""
    text = ""
    for name, lines in planes:
        body = ""
        for line, events in lines.items():
            spans = "".join(
                f"events {{ metadata_id: 1 offset_ps: {start * 1000} duration_ps: {length * 1000} }} "
                for start, length in events
            )
            body += f'lines {{ name: "{line}" {spans} }} '
        text += f'planes {{ name: "{name}" {body} event_metadata {{ key: 1 value {{ id: 1 name: "op" }} }} }} '
    return ProfileData.from_text_proto(text)


def test_a_tpu_is_busy_while_its_programs_run():
    found = profile(
        ("/host:CPU", {"python": [(0, 9000)]}),
        ("/device:TPU:0", {"XLA Modules": [(0, 1000), (5000, 500)], "XLA Ops": [(0, 400), (400, 9000)]}),
    )
    assert busy_seconds(found) == 1.5e-6


def test_kernels_on_two_streams_at_once_are_counted_once():
    found = profile(("/device:GPU:0", {"Stream #1": [(0, 1000), (3000, 1000)], "Stream #2": [(500, 1000)]}))
    assert busy_seconds(found) == 2.5e-6


def test_only_the_first_device_counts():
    found = profile(("/device:TPU:1", {"XLA Modules": [(0, 7000)]}), ("/device:TPU:0", {"XLA Modules": [(0, 1000)]}))
    assert busy_seconds(found) == 1e-6


def test_a_host_is_no_device():
    assert busy_seconds(profile(("/host:CPU", {"python": [(0, 9000)]}))) is None


def test_on_a_cpu_there_is_no_device_time():
    assert device_seconds(lambda: jnp.ones(3) + 1) is None
