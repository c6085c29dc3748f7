"""The first signal asks, the second does not wait, and handlers come back."""

from __future__ import annotations

import signal
import threading

import pytest

from gnomon.train.signals import Stop

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("name", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_is_a_wish_to_stop(name, code):
    before = signal.getsignal(name)
    with Stop() as stop:
        assert (stop.asked, stop.exit_code) == (None, 0)
        signal.raise_signal(name)
        assert (stop.asked, stop.exit_code) == (name, code)

    assert signal.getsignal(name) is before


def test_a_second_signal_does_not_wait():
    with Stop():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_other_threads_are_left_alone():
    found = []

    def inside():
        with Stop() as stop:
            found.append(stop.before)

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()

    assert found == [{}]
