"""Stop signals set a flag, and only while the flag is in force."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from pdem.foundation.signals import STOP_SIGNALS, SignalFlag


@pytest.mark.parametrize("number", STOP_SIGNALS)
def test_a_signal_is_remembered(number):
    with SignalFlag() as flag:
        assert (flag.requested, flag.name) == (0, "")
        os.kill(os.getpid(), number)
        assert flag.requested == number
        assert flag.name == signal.Signals(number).name


def test_handlers_are_restored():
    before = [signal.getsignal(number) for number in STOP_SIGNALS]
    with SignalFlag():
        assert all(signal.getsignal(number) not in before for number in STOP_SIGNALS)
    assert [signal.getsignal(number) for number in STOP_SIGNALS] == before


def test_a_second_interrupt_is_one():
    with SignalFlag():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)


def test_a_hangup_that_was_ignored_stays_ignored():
    """As under nohup: the run is to outlive the terminal it was started from."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with SignalFlag() as flag:
            os.kill(os.getpid(), signal.SIGHUP)
            assert flag.requested == 0
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_outside_the_main_thread_nothing_happens():
    problems = []

    def enter():
        try:
            with SignalFlag() as flag:
                assert flag.requested == 0
        except BaseException as problem:
            problems.append(problem)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert problems == []


def test_work_before_the_first_step_is_left_at_once():
    done = []
    with SignalFlag() as flag:
        assert flag.unless_stopped(lambda: 3) == 3

        def work():
            try:
                os.kill(os.getpid(), signal.SIGUSR1)
            except Exception:  # as a library may do
                done.append("swallowed")
            done.append("went on")

        assert flag.unless_stopped(work) is None
        assert (done, flag.requested) == ([], signal.SIGUSR1)
        assert flag.unless_stopped(lambda: done.append("begun")) is None
        os.kill(os.getpid(), signal.SIGTERM)  # outside, signals are only remembered
    assert (done, flag.requested) == ([], signal.SIGTERM)
