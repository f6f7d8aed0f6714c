"""What holds for the events of every trace."""

from __future__ import annotations

from collections import defaultdict

from pdem.run.trace import BETWEEN_STEPS

ROUNDING = 2e-3  # us: both ends of an event are whole nanoseconds


def require_order(found):
    """Check that events of one rank follow each other by kind, and that phases but output are inside their steps.

    Return the events of the steps by step.
    """
    for kind in ("step", "phase"):
        end = float("-inf")  # clocks of ranks are aligned to microseconds: the first event may begin just before 0
        for event in (event for event in found if event["cat"] == kind):
            assert event["ts"] >= end - ROUNDING
            assert event["dur"] >= 0.0
            end = event["ts"] + event["dur"]
    steps = {event["args"]["step"]: event for event in found if event["cat"] == "step"}
    for event in found:
        if event["cat"] == "phase" and event["name"] != BETWEEN_STEPS:
            outer = steps[event["args"]["step"]]
            assert outer["ts"] - ROUNDING <= event["ts"]
            assert event["ts"] + event["dur"] <= outer["ts"] + outer["dur"] + ROUNDING
    return steps


def seconds_of(found):
    """Return the sum of the events of each phase [s]."""
    sums = defaultdict(float)
    for event in found:
        if event["cat"] == "phase":
            sums[event["name"]] += 1e-6 * event["dur"]
    return sums
