"""How Python becomes machine code, and the arithmetic that every room shares.

**Kernels.** A function with a decorator of `kernels` is compiled by numba when it is first called: `kernel` for one
thread, `threaded_kernel` for loops over threads, `inlined` for a part of other kernels, `geometry_kernel`
(`geometry_kernels`) for a decision by geometry. They take arrays and numbers and never raise. Contraction of a product
and a sum is the only freedom that the compiler has; where even that would change bits a kernel asks for one rounding
by name (`fused`).

**Factories.** A kernel that depends on a case, its contact law for example, is a function within a function.
`kernel_factory` names each version by what is in it, so that equal versions have one name and one machine code. A
function of a user becomes part of such a kernel after it was tried (`user_functions`, `function_trials`), and is told
apart from another one by its text and all that it refers to (`function_digest`).

**Addresses.** A kernel calls another one, a function of Python, or one of a C library by its address (`kernel_calls`,
`c_calls`): the caller is then compiled once for all of them.

**The cache.** Machine code is kept on disk, function by function (`kernel_cache`), in a folder whose name follows from
the sources of the rooms that have kernels, the processor and the versions of numba and llvmlite (`cache`). Where that
folder is, and which others are read, is decided in `cache_places`. A change in one of these rooms compiles all of them
again.

**Less to generate.** Functions that are inlined get no machine code of their own (`machine_code`); a parallel loop on
one thread is called without the pool, and timed (`loop_calls`, `thread_pool`).

**Private parts of numba and llvmlite** are used in `numba_private` alone, which tries them when pdem is first imported
with a new version of numba (`numba_trial`). If they have changed, kernels are compiled by the public
functions of numba: the start is slower, and the bits are the same.

**Vectors.** `simd` has the parts of loops that are written as instructions of LLVM, and says how a loop becomes vector
code.

**Arithmetic.** Exact sums over ranks (`sums`), random numbers by id (`random`), vectors (`vectors`, `components`),
images of a periodic box (`box_images`), aligned arrays (`arrays`).
"""
