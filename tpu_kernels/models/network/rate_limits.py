"""The limits that can bind a transfer, and what each is called for a reader."""

from tpu_kernels.phrases import phrase

LINE, PACKETS, WINDOW, LOSS = "line", "packets", "window", "loss"
MACHINE, REQUESTS, STREAMS = "machine", "requests", "streams"


def limit_name(limit: str) -> str:
    """A limit in the language in force, as ``la ventana de TCP``."""
    return {
        LINE: phrase("limit.line"),
        PACKETS: phrase("limit.packets"),
        WINDOW: phrase("limit.window"),
        LOSS: phrase("limit.loss"),
        MACHINE: phrase("limit.machine"),
        REQUESTS: phrase("limit.requests"),
        STREAMS: phrase("limit.streams"),
    }[limit]
