"""Networks between machines: frames and their overhead, what a packet costs, TCP over distance, and moving data sets.

``tcp_frame(1500).efficiency``; ``tcp_throughput(…)`` names the limit that binds; ``plan_transfer(…)`` names the
narrowest stage from disk to disk; ``number("vpn.pps")`` and ``measurements("V4")`` are facts with their sources.
Rates are in bit/s here, and in bytes/s in :mod:`collective_cost`: a quantity in the other unit is converted.
"""

from tpu_kernels.models.network.facts import (
    Fact,
    Formula,
    Measurements,
    UnknownFactError,
    fact,
    facts,
    formulas,
    measurements,
    number,
    numbers,
    sources,
)
from tpu_kernels.models.network.frames import (
    Frame,
    comparison,
    largest_path_mtu,
    path_mtus,
    roce_frame,
    tcp_frame,
    udp_frame,
)
from tpu_kernels.models.network.packet_cost import PacketCost, fit_packet_cost, goodput, packet_cost
from tpu_kernels.models.network.storage_limits import StorageLoad, download, parallel_upload_time, upload
from tpu_kernels.models.network.tcp_throughput import (
    Throughput,
    bandwidth_delay_product,
    loss_limited,
    streams_to_fill,
    tcp_throughput,
    window_limited,
)
from tpu_kernels.models.network.transfer import Plan, plan_transfer
from tpu_kernels.models.network.transfer_paths import TransferPath, VpnTunnels, interconnect, line, vpn, vpn_tunnels

__all__ = [
    "Fact",
    "Formula",
    "Frame",
    "Measurements",
    "PacketCost",
    "Plan",
    "StorageLoad",
    "Throughput",
    "TransferPath",
    "UnknownFactError",
    "VpnTunnels",
    "bandwidth_delay_product",
    "comparison",
    "download",
    "fact",
    "facts",
    "fit_packet_cost",
    "formulas",
    "goodput",
    "interconnect",
    "largest_path_mtu",
    "line",
    "loss_limited",
    "measurements",
    "number",
    "numbers",
    "packet_cost",
    "parallel_upload_time",
    "path_mtus",
    "plan_transfer",
    "roce_frame",
    "sources",
    "streams_to_fill",
    "tcp_frame",
    "tcp_throughput",
    "udp_frame",
    "upload",
    "vpn",
    "vpn_tunnels",
    "window_limited",
]
