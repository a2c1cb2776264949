"""Functions that need each other are measured at the same time."""

import socket
from functools import partial

import pytest

from helpers.measure import together
from helpers.units import MiB


@pytest.mark.measured
def test_two_that_wait_for_each_other_are_measured_apart():
    def meet(name, other, size):
        import socket

        block = bytearray(size)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
            line.bind(("127.0.0.1", name))
            line.settimeout(0.05)
            while True:
                line.sendto(b"here", ("127.0.0.1", other))
                try:
                    line.recv(4)
                except OSError:  # not yet
                    continue
                line.sendto(b"here", ("127.0.0.1", other))
                return len(block)

    with (
        socket.create_server(("127.0.0.1", 0)) as one,
        socket.create_server(("127.0.0.1", 0)) as two,
    ):
        a = one.getsockname()[1]
        b = two.getsockname()[1]
        runs = together(
            {"large": partial(meet, a, b, 32 * MiB), "small": partial(meet, b, a, MiB)}, timeout=20
        )
    assert {name: (run.name, run.value) for name, run in runs.items()} == {
        "large": ("large", 32 * MiB),
        "small": ("small", MiB),
    }
    assert runs["large"].peak.resident > 30 * MiB > 10 * MiB > runs["small"].peak.resident
