"""Generated motions of walls: turns and shifts, steady, to and fro or by tables, each carried by the one before."""

from __future__ import annotations

import math

from hypothesis import strategies as st

from pdem.motion.courses import Oscillating, Steady, TabulatedCourse
from pdem.motion.motions import MotionTurn, RigidMotion, Shift

small = st.floats(-2.0, 2.0)
vectors = st.tuples(small, small, small)
courses = st.one_of(
    st.builds(Steady, small),
    st.builds(Oscillating, small, st.floats(0.1, 2.0), small),
    st.builds(
        lambda values: TabulatedCourse(tuple(0.37 * k - 0.5 for k in range(len(values))), tuple(values)),
        st.lists(small, min_size=2, max_size=8),
    ),
)
axes = vectors.filter(lambda axis: math.hypot(*axis) > 0.1)
parts = st.one_of(st.builds(MotionTurn, axes, vectors, courses), st.builds(Shift, st.tuples(courses, courses, courses)))
motions = st.builds(RigidMotion, st.lists(parts, max_size=4), vectors)
