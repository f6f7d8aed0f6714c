"""Heat of particles: conduction through contacts and gaps, heat from motion, walls, fluid, radiation.

The goal is heat that is conserved to the last bit: it moves in whole quanta (`pdem.numerics.quanta`). Temperatures
inside a particle and the motion of a fluid do not belong here.
"""
