"""Building blocks of vector code for contacts and particles: one instruction works on several numbers.

A compiler turns a loop into vector code if successive iterations work on adjacent numbers, if no branch skips part of
an iteration, and if it can prove that no index is negative. The kernels of a step are written accordingly:

**Columns.** A stage of the contact law is one short loop over up to `BLOCK` contacts. The values of a quantity (normal
x, normal y, overlap, ...) for all contacts of the block form a contiguous *column*; `column_reader` and `column_writer`
(`columns`) read and write several columns as one tuple. A stage also passes its results to the next stage in columns.
Each stage has only a few roots and quotients, so that the processor overlaps several iterations; in one long loop it
would not look far enough ahead.

**Rows.** Memory is read fastest if all data of a particle are adjacent: a *row* of 12 numbers, one or two cache lines.
Shuffles convert rows to columns, and columns to rows: four rows at a time (`transposition`), or one row per lane of a
vector where lists contain the row numbers (`listed_rows`). The gather and scatter instructions of processors have the
same effect, but are several times slower than loads and shuffles on many processors; `pdem.numerics.kernels` disables
them in the compiler.

**Whole vectors.** Loops run over multiples of `LANES` numbers, and the last vector of a chunk is filled up with
harmless contacts (`whole_lanes`). Otherwise the remainder of a loop would use different instructions, which contract
different products and sums: the bits of a contact would depend on its position in the block.

**Unsigned indices.** Python counts negative indices from the end. An index that may be negative as far as the compiler
can see costs a comparison and a branch, and prevents vector code. `offset` adds indices as unsigned numbers, and a row
number is masked by `ROW` (`places`).

**Prefetch.** The first histories and particle rows of a chunk are at addresses that the hardware does not expect.
`fetch` (`prefetch`) requests a cache line some time before it is read. It changes only the time at which the processor
waits for memory.

**Stores and loads of different widths.** Data stored in vectors of one width can be loaded in a different width only
after they have reached the cache. Columns are therefore scattered to rows one block late.

**Sums.** The effect of a contact on both of its particles is one row of eight numbers, a cache line: the force, its
torque divided by the arm, and both arms. The row is added to the loads of a particle as one vector, times signs and arm
of the particle's side (`row_sums`), contact after contact in a fixed order. A choice by the side would be a branch,
which the processor predicts wrongly every other time.

**Bits instead of branches.** The search of the grid tests eight spheres together and sets a bit for each sphere nearby.
The numbers of these spheres are packed to the front of a vector, which is written as a whole; the next vector
overwrites the unused lanes (`distance_filter`).

Everything here has a plain equivalent in Python, used where numba is switched off (``NUMBA_DISABLE_JIT``);
`tests/unit/test_vector_code.py` reads the machine code of both kernels for several processors.
"""
