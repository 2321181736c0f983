"""What dropout draws from: one generator a device, whose state is saved with a run."""

from typing import Any

import torch


def random_state(device: torch.device) -> dict[str, Any]:
    """Where the generator of ``device`` is, in tensors, strings and integers."""
    return {"device": device.type, "state": _generator(device)[0]()}


def set_random_state(device: torch.device, random: dict[str, Any]) -> None:
    """Draws on from where :func:`random_state` was taken; nothing where that was another kind of device."""
    if random["device"] == device.type:
        _generator(device)[1](random["state"])


def _generator(device: torch.device) -> tuple[Any, Any]:
    """What gets its state, and what sets it."""
    if device.type == "xla":
        from torch_xla.core import xla_model

        return xla_model.get_rng_state, xla_model.set_rng_state
    of_device = torch if device.type == "cpu" else torch.get_device_module(device)
    return of_device.get_rng_state, of_device.set_rng_state
