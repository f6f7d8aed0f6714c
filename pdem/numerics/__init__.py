"""Compilation of Python to machine code, and the arithmetic that every room shares.

Goal: kernels with the same bits on any number of threads, compiled once and stored, and exact sums, random numbers and
vectors for all rooms.

Not here: physics, particles and contacts. Functions for one room alone stay in that room.

**Kernels.** A function with a decorator of `kernels` is compiled by numba when it is first called: `kernel` for one
thread, `threaded_kernel` for loops over threads, `inlined` for a part of other kernels, `geometry_kernel`
(`geometry_kernels`) for a decision by geometry. Kernels accept arrays and numbers and never raise. The compiler
has no freedom that changes bits: a rule decides where a product and a sum are rounded once (`portable.contraction`).
Decisions by geometry are not contracted, and request a single rounding by name (`portable.fused`).

**Factories.** A kernel that depends on a case, for example on its contact law, is a function within a function.
`kernel_factory` names each version by its content, so that equal versions have the same name and share machine code. A
function of a user becomes part of such a kernel after a trial (`user_functions`, `function_trials`). It is
distinguished from similar functions by its text and by everything that it refers to (`function_digest`).

**Addresses.** A kernel calls a kernel, a function of Python, or a function of a C library by its address
(`kernel_calls`, `c_calls`). The caller is then compiled only once for all of these.

**The cache.** Machine code is stored on disk, function by function (`kernel_cache`). The name of the folder follows
from the sources of the folders with kernels, the processor, and the versions of numba and llvmlite (`cache`).
`cache_places` decides on the location of that folder and on further folders to read. A change in one of these sources
compiles all kernels again.

**Less to generate.** Inlined functions get no machine code of their own (`machine_code`). A parallel loop on one thread
is called without the thread pool, and timed (`loop_calls`, `thread_pool`).

**Private parts of numba and llvmlite** are used in `numba_private` alone, which tries them when pdem is first imported
with a new version of numba (`numba_trial`). If they have changed, kernels are compiled by the public functions of
numba: the start is slower, and the bits are the same.

**Vectors.** `simd` contains the parts of loops that are written as instructions of LLVM, and explains how a loop
becomes vector code.

**Processors.** Kernels are compiled for a level of x86-64 (`portable.target`), so that all processors of that level can
share machine code, also that of an installation.

**Arithmetic.** Exact sums over ranks (`sums`), random numbers by id (`random`), vectors (`vectors`, `components`),
images of a periodic box (`box_images`), aligned arrays (`arrays`).
"""
