"""Functions of C libraries that kernels call by their addresses."""

from __future__ import annotations

import ctypes.util

import numpy as np
import pytest

from pdem.numerics.c_calls import address_in, address_of, call_c
from pdem.numerics.kernels import uncounted_serial_kernel

LIBRARY = ctypes.util.find_library("c")


@uncounted_serial_kernel
def call_with_one(address, value, result):
    result[0] = call_c(address, (value,))


@uncounted_serial_kernel
def compare_memory(address, one, other, size, result):
    result[0] = call_c(address, (one, other, size))


@pytest.mark.parametrize("value", [0, 7, -7, 2**31 - 1])
def test_a_kernel_calls_a_function_of_c(value):
    result = np.zeros(1, np.int64)
    call_with_one(address_in(LIBRARY, "abs"), value, result)
    assert result[0] == abs(value)


def test_what_it_returns_keeps_its_sign():
    one, other, result = np.array([1, 2, 3], np.uint8), np.array([1, 2, 4], np.uint8), np.zeros(1, np.int64)
    compare = address_in(LIBRARY, "memcmp")
    compare_memory(compare, address_of(one), address_of(other), 3, result)
    assert result[0] < 0
    compare_memory(compare, address_of(other), address_of(one), 3, result)
    assert result[0] > 0
    compare_memory(compare, address_of(one), address_of(other), 2, result)
    assert result[0] == 0


def test_there_is_no_address_of_what_is_missing():
    assert address_in(LIBRARY, "no_such_function_anywhere") == 0
    assert address_in("no_such_library.so", "abs") == 0
