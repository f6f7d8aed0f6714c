"""What makes loops over contacts and particles vector code: several numbers in one instruction.

A compiler turns a loop into vector code if neighbouring turns work on neighbouring numbers, if nothing in a turn is
skipped by a branch, and if it can see that no place is out of an array's begin. The kernels of a step are written so:

**Columns.** A stage of the contact law is one short loop over up to `BLOCK` contacts. The numbers of a quantity (normal
x, normal y, overlap, ...) of all contacts of the block stand one after the other in a *column*; `column_reader` and
`column_writer` (`columns`) read and write several columns as one tuple. What a stage leaves for the next stands in
columns too. One stage has a few roots and quotients, so that the processor overlaps those of several turns; in one long
loop it would not see far enough ahead.

**Rows.** Memory is read fastest where everything that is needed of one particle stands together: a *row* of 12 numbers,
one or two cache lines. Rows are brought into columns, and columns into rows, by shuffles: four rows at a time
(`transposition`), or as many as a vector has numbers where lists say which rows they are (`listed_rows`). The gather
and scatter instructions of processors would do so as well, and are several times slower than loads and shuffles on many
of them; `pdem.numerics.kernels` tells the compiler not to use them.

**Whole vectors.** Loops run over multiples of `LANES` numbers, and the last vector of a chunk is filled up with
harmless contacts (`whole_lanes`). Without this the rest of a loop would run through other instructions, which round
other products together with sums: the bits of a contact would depend on its place in the block.

**Unsigned places.** Python counts negative places from the end. A place that the compiler cannot know to be positive
costs a comparison and a branch, and the loop is no vector code. `offset` adds places as unsigned numbers, and a row
number is masked by `ROW` (`places`).

**Prefetch.** Histories and the rows of particles that a chunk reads first lie where the hardware does not expect
them. `fetch` (`prefetch`) asks for a cache line some time before it is read. It changes when memory is waited for, and
nothing else.

**Stores and loads of different widths.** What was stored in vectors of one width is loaded in another width only after
it has reached the cache. Columns are therefore scattered to rows one block late.

**Sums.** What a contact does to both of its particles is one row of eight numbers, a line of the cache: the force, its
torque over the arm, and both arms. It is added to what acts on a particle as one vector, times signs and arm of the
side on which the particle is (`row_sums`), contact after contact in a fixed order. A choice by the side would be a
branch, which the processor foresees wrongly every other time.

**Bits in place of branches.** The search of the grid tests eight spheres at once and gets a bit for each that is near.
The numbers of these are packed to the front of a vector, which is written as a whole; the next one overwrites what is
left of it (`near_lanes`).

Everything here has a plain twin in Python, used where numba is switched off (``NUMBA_DISABLE_JIT``);
`tests/unit/test_vector_code.py` reads the machine code of both kernels for several processors.
"""
