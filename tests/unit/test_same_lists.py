"""Many steps in one kernel: the same bits as step by step, whatever ends them; what is called between steps."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.cases import Grains
from helpers.falling_heap import FLOOR, FREE, PRESSED, TURNING, by_single_steps, falling, require_same
from pdem.contact import steps
from pdem.contact.pairs import history_storage
from pdem.contact.pairs.runs import BEGIN, END, RUN, take_part
from pdem.containers.exchange import FAILURE, Alone, calls_without
from pdem.engine import contact_forces, same_lists
from pdem.features.wear.feature import WearFeature
from pdem.foundation.errors import BlowUpError
from pdem.numerics.kernel_calls import PythonCall, ask_python, call_kernel, call_of
from pdem.numerics.kernels import kernel, prange, uncounted_kernel, uncounted_serial_kernel


@pytest.fixture
def kernels(monkeypatch):
    """Steps that were taken by each kernel."""
    taken = []
    take = contact_forces.ContactSteps.take

    def counted(self, most, **options):
        taken.append(take(self, most, **options))
        return taken[-1]

    monkeypatch.setattr(contact_forces.ContactSteps, "take", counted)
    monkeypatch.setattr(same_lists, "LONGEST", 1e6)  # as many steps as lists allow, however slow this machine is
    return taken


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "wall", [None, FLOOR, TURNING, PRESSED, FREE], ids=["open", "floor", "turning", "pressed", "free"]
)
def test_steps_in_one_kernel_are_those_of_single_steps(tmp_path, kernels, wall, threads):
    many = falling(tmp_path, wall, threads)
    kernels.clear()
    many.advance(400)
    assert max(kernels) > 4
    assert sum(kernels) == 400
    require_same(by_single_steps(falling(tmp_path, wall), 400), many)


def pairs_that_meet():
    """Pairs all of which begin to touch in one step: seven chunks."""
    places = np.stack(np.meshgrid(np.arange(80), np.arange(80), indexing="ij"), -1).reshape(-1, 2) * 0.01
    first = np.column_stack((places - 0.4, np.zeros(len(places))))
    return Grains(
        np.concatenate((first, first + np.array([0.0, 0.0, 0.00201]))), 0.001,
        np.concatenate((np.full((6400, 3), [0.0, 0.0, 0.1]), np.zeros((6400, 3)))),
    )  # fmt: skip


@uncounted_serial_kernel
def count_polls(gather, status, handles, rows, chosen, gathered):
    status[FAILURE, 1] += 1


class Polls:
    """How often messages could get on, in a run that has none, and steps in which they could."""

    def __init__(self):
        self.statuses, self.steps = [], 0

    @property
    def number(self):
        return sum(int(status[FAILURE, 1]) for status in self.statuses)


@pytest.fixture(params=[False, True], ids=["whole", "parts"])
def polls(request, monkeypatch):
    """Let messages get on, and count how often; None if they may not."""
    if not request.param:
        return None
    polls, take = Polls(), contact_forces.ContactSteps.take

    def calls(self, rows):
        none = calls_without()
        polls.statuses.append(none.status)
        return none._replace(poll=call_of(count_polls, none.given))

    def counted(self, most, **options):
        taken = take(self, most, **options)
        polls.steps += taken if self._ranks.poll else 0
        return taken

    monkeypatch.setattr(Alone, "calls", calls)
    monkeypatch.setattr(contact_forces.ContactSteps, "take", counted)
    return polls


def test_workers_without_room_for_their_contacts_finish_the_step(tmp_path, kernels, polls, monkeypatch):
    """No chunk has room for so many contacts; the first part of them has, where messages get on between parts."""
    monkeypatch.setattr(history_storage, "_MOVES", 2)
    grains, finished = pairs_that_meet(), []
    finish = contact_forces.ContactSteps._finish
    monkeypatch.setattr(
        contact_forces.ContactSteps, "_finish",
        lambda self, stage, **options: finished.append(stage) or finish(self, stage, **options),
    )  # fmt: skip
    many = falling(tmp_path, grains=grains, detection={"skin": 0.1}, step=1e-5)
    many.advance(20)
    assert finished
    if polls is not None:
        assert polls.number > 2 * polls.steps > 20
    assert max(kernels) > 4
    assert many.measures().contacts_per_particle > 0.0
    monkeypatch.undo()
    single = falling(tmp_path, grains=grains, detection={"skin": 0.1}, step=1e-5)
    require_same(by_single_steps(single, 20), many)


@pytest.mark.parametrize(("threads", "parts"), [(1, 3), (2, 1)])
def test_messages_get_on_between_parts_of_the_contacts(tmp_path, polls, threads, parts):
    """Before each, and the bits are those of contacts that are evaluated in one go."""
    many = falling(tmp_path, threads=threads, grains=pairs_that_meet(), detection={"skin": 0.1}, step=1e-5)
    many.advance(20)
    assert many.system.contacts.pairs.storage.inner_number == 7
    if polls is not None:
        assert polls.number == parts * polls.steps > 10
    single = falling(tmp_path, grains=pairs_that_meet(), detection={"skin": 0.1}, step=1e-5)
    require_same(by_single_steps(single, 20), many)


@kernel
def parts_of_runs(runs, chunks, parts):
    found = np.zeros((parts, len(runs), 2), np.int64)
    for part in range(parts):
        take_part(runs, chunks, part, parts)
        found[part, :, 0], found[part, :, 1] = runs[:, BEGIN], runs[:, END]
    return found


@pytest.mark.parametrize("chunks", [(0, 0), (0, 5), (3, 20), (0, 1000)])
@pytest.mark.parametrize("workers", [1, 2, 7])
def test_parts_are_all_chunks_of_each_worker_in_their_order(workers, chunks):
    whole = parts_of_runs(np.zeros((workers, RUN), np.int64), chunks, 1)[0]
    assert whole[0, 0] == chunks[0]
    assert whole[-1, 1] == chunks[1]
    for parts in (2, 3, steps.PARTS):
        found = parts_of_runs(np.zeros((workers, RUN), np.int64), chunks, parts)
        np.testing.assert_array_equal(found[0, :, 0], whole[:, 0])
        np.testing.assert_array_equal(found[-1, :, 1], whole[:, 1])
        np.testing.assert_array_equal(found[1:, :, 0], found[:-1, :, 1])


def test_a_blow_up_ends_the_kernel(tmp_path, kernels):
    grains = Grains([[0.0, 0.0, 0.1], [0.0, 0.0, 0.1201]], 0.01, [[0.0, 0.0, 0.0], [0.0, 0.0, -60.0]])
    simulation = falling(tmp_path, FLOOR, grains=grains, largest_overlap=0.05, step=1e-6)
    with pytest.raises(BlowUpError, match="overlap"):
        simulation.advance(10000)
    steps = simulation.step
    assert max(kernels) > 4
    other = falling(tmp_path, FLOOR, grains=grains, largest_overlap=0.05, step=1e-6)
    with pytest.raises(BlowUpError, match="overlap"):
        by_single_steps(other, 10000)
    assert steps - 1 <= other.step <= steps  # single steps look at once, others when the next one begins


def test_a_stop_signal_is_seen_between_kernels(tmp_path, monkeypatch):
    simulation = falling(tmp_path, FLOOR)
    monkeypatch.setattr(same_lists, "LONGEST", 0.0)
    simulation.system.progress.stop_when(lambda: 15 if simulation.step >= 20 else 0)
    assert simulation.advance(400) == 15
    assert 20 < simulation.step < 40


def test_an_error_within_a_step_ends_the_kernel_after_it(tmp_path, monkeypatch):
    simulation = falling(tmp_path, {**FLOOR, "wear": {"model": "archard", "coefficient": 1e-12}})
    simulation.advance(10)

    def fail(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(WearFeature, "after_walls", fail)
    with pytest.raises(KeyboardInterrupt):
        simulation.advance(400)
    assert simulation.step < 13


@uncounted_kernel
def scale(values, factors):
    for k in prange(len(values)):
        values[k] *= factors[0][k] + factors[1]


@kernel
def call_and_ask(call, address, values, factors):
    call_kernel(call, (values, factors))
    return ask_python(address)


def test_kernels_call_others_by_address():
    values, factors = np.arange(4.0), (np.full(4, 2.0), 0.5)
    asked = PythonCall(lambda: 7 if values[1] == 2.5 else 0)
    assert call_and_ask(call_of(scale, (values, factors)), asked.address, values, factors) == 7
    np.testing.assert_array_equal(values, 2.5 * np.arange(4.0))


def test_a_call_knows_types_apart():
    values = np.arange(4.0)
    calls = {call_of(scale, (values, (values, number))) for number in (2, 2.0, 3)}
    assert len(calls) == 2


def test_an_error_in_python_passes_by_the_kernel():
    def fail():
        raise ValueError("between two steps")

    values, asked = np.zeros(1), PythonCall(fail)
    assert call_and_ask(call_of(scale, (values, (values, 1.0))), asked.address, values, (values, 1.0)) == 1
    with pytest.raises(ValueError, match="between two steps"):
        asked.reraise()
