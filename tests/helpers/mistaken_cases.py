"""Case files with mistakes of newcomers: what is changed in a valid file, where the message points, and its remedy."""

# ruff: noqa: E501 -- tables of one line each

from __future__ import annotations

VALID = """title = "Drum"
[time]
step = 1e-5
end = 1.0
[domain]
lower = [0.0, 0.0, 0.0]
upper = [1.0, 1.0, 1.0]
periodic = [false, false, false]
gravity = [0.0, 0.0, -9.81]
outside = "remove"
[materials.grain]
density = 2500.0
youngs_modulus = 1e7
poisson_ratio = 0.25
[materials.steel]
[interactions.grain-grain]
law = "hertz-mindlin"
friction = 0.5
restitution = 0.4
rolling = {model = "spring", friction = 0.1}
[interactions.grain-steel]
friction = 0.5
restitution = 0.4
[[particles]]
material = "grain"
radius = 0.01
fill = {count = 10, lower = [0.1, 0.1, 0.1], upper = [0.9, 0.9, 0.9]}
velocity = [0.0, 0.0, -1.0]
[[insertions]]
name = "feed"
material = "grain"
radius = {distribution = "uniform", min = 0.01, max = 0.02}
face = {shape = "disc", centre = [0.5, 0.5, 0.9], normal = [0, 0, -1], radius = 0.1}
velocity = 1.0
mass_rate = 0.5
[[walls]]
name = "floor"
shape = "plane"
normal = [0.0, 0.0, 1.0]
material = "steel"
[[walls]]
name = "drum"
mesh = "drum.stl"
material = "steel"
rotation = {rate = 2.0, axis = [0.0, 1.0, 0.0]}
[[stages]]
name = "filling"
until = {quantity = "particles", above = 5}
[[sensors]]
name = "bed"
region = {lower = [0.0, 0.0, 0.0], upper = [1.0, 1.0, 0.5]}
[output]
folder = "results/drum"
snapshots_every = 0.01
"""

RADIUS, LOWER, END, TITLE, MESH = (
    "radius = 0.01\n",
    "lower = [0.0, 0.0, 0.0]\n",
    "end = 1.0\n",
    'title = "Drum"\n',
    'mesh = "drum.stl"\n',
)
FILL = "fill = {count = 10, lower = [0.1, 0.1, 0.1], upper = [0.9, 0.9, 0.9]}\n"
PERIODIC = "periodic = [false, false, false]\n"

SYNTAX = [
    ("decimal comma", RADIUS, "radius = 0,005\n", 26, "decimals are written with a point: 0.005"),
    ("decimal commas in a list", LOWER, "lower = [0,05, 0,1, 0]\n", 6, "decimals are written with a point: 0.05"),
    ("decimal comma in a table", "min = 0.01", "min = 0,01", 32, "decimals are written with a point: 0.01"),
    ("thousands", END, "end = 1,000,000\n", 4, "without separators: 1000000"),
    ("blank between thousands", END, "end = 1 000\n", 4, "without separators: 1000"),
    ("list without commas", LOWER, "lower = [0.0 0.0 0.0]\n", 6, "separated by commas"),
    ("list with semicolons", LOWER, "lower = [0; 0; 0]\n", 6, "separated by commas"),
    ("list in parentheses", LOWER, "lower = (0, 0, 0)\n", 6, "in square brackets: [0, 0, 0]"),
    ("list in braces", LOWER, "lower = {0, 0, 0}\n", 6, "in square brackets: [0, 0, 0]"),
    ("list without brackets", LOWER, "lower = 0, 0, 0\n", 6, "in square brackets: [0, 0, 0]"),
    ("list without end", LOWER, "lower = [0, 0, 0\n", 6, "has no ]"),
    ("list with another end", LOWER, "lower = [0, 0, 0)\n", 6, "ends with ], not with )"),
    ("last list without end", "snapshots_every = 0.01\n", "stress = [\n", 54, "has no ]"),
    ("text without quotes", 'material = "grain"\nradius = 0.01', "material = grain\nradius = 0.01", 25, 'need quotes: "grain"'),
    ("law without quotes", '"hertz-mindlin"', "hertz-mindlin", 17, 'need quotes: "hertz-mindlin"'),
    ("path without quotes", MESH, "mesh = parts/drum.stl\n", 43, 'need quotes: "parts/drum.stl"'),
    ("text that begins as a constant", 'name = "feed"', "name = infeed", 30, 'need quotes: "infeed"'),
    ("True", PERIODIC, "periodic = [True, False, False]\n", 8, "in small letters: true"),
    ("yes", "snapshots_every = 0.01", "energies = yes", 54, "in small letters: true"),
    ("None", 'outside = "remove"', "outside = None", 10, "leave the key out"),
    ("path of Windows, hexadecimal", MESH, 'mesh = "C:\\Users\\me\\drum.stl"\n', 43, '"C:/Users/me/drum.stl"'),
    ("path of Windows, no code", MESH, 'mesh = "C:\\data\\drum.stl"\n', 43, '"C:/data/drum.stl"'),
    ("curly quotes", TITLE, "title = “Drum”\n", 1, 'straight ones: "Drum"'),
    ("low quotes", TITLE, "title = „Drum“\n", 1, 'straight ones: "Drum"'),
    ("no closing quote", TITLE, 'title = "Drum\n', 1, 'does not end with " on this line'),
    ("two kinds of quotes", TITLE, "title = 'Drum\"\n", 1, "take the same quotes"),
    ("semicolon at the end", END, "end = 1.0;\n", 4, "does not end with a semicolon"),
    ("comma at the end", END, "end = 1.0,\n", 4, "does not end with a comma"),
    ("two keys on a line", END, "end = 1.0; title2 = 2\n", 4, "each key has a line of its own"),
    ("unit behind a number", RADIUS, "radius = 5 mm\n", 26, "in SI units: radius = 0.005"),
    ("unit at a number", RADIUS, "radius = 5mm\n", 26, "in SI units: radius = 0.005"),
    ("percent", "restitution = 0.4\nrolling", "restitution = 40%\nrolling", 19, "in SI units: restitution = 0.4"),
    ("rpm behind a number", "rate = 2.0,", "rate = 20 rpm,", 45, "separated by commas"),
    ("comment of C", END, "end = 1.0 // s\n", 4, "comments begin with #, not with //"),
    ("line of a comment of C", TITLE, "// a drum\n", 1, "comments begin with #, not with //"),
    ("comment of Matlab", TITLE, "% a drum\n", 1, "comments begin with #, not with %"),
    ("comment of an ini file", TITLE, "; a drum\n", 1, "comments begin with #, not with ;"),
    ("comment of Fortran", TITLE, "! a drum\n", 1, "comments begin with #, not with !"),
    ("arrow", RADIUS, "radius => 0.01\n", 26, "joined by =: radius = 0.01"),
    ("colon", RADIUS, "radius: 0.01\n", 26, "joined by =: radius = 0.01"),
    ("colon and sign", RADIUS, "radius := 0.01\n", 26, "joined by =: radius = 0.01"),
    ("colon in a table", "{count = 10,", "{count: 10,", 27, "joined by =: count = 10"),
    ("two signs", RADIUS, "radius == 0.01\n", 26, "joined by =: radius = 0.01"),
    ("no sign", RADIUS, "radius 0.01\n", 26, "joined by =: radius = 0.01"),
    ("no value", RADIUS, "radius =\n", 26, "radius has no value"),
    ("key with blanks", "youngs_modulus =", "youngs modulus =", 13, "keys have no spaces: youngs_modulus"),
    ("script of LAMMPS", TITLE, "pair_style gran hertz\n", 1, "KEY = VALUE, [TABLE]"),
    ("table without end", "[time]", "[time", 2, "ends with as many brackets as it begins with: [time]"),
    ("list of tables, one bracket", "[[particles]]", "[[particles]", 24, "begins with: [[particles]]"),
    ("list of tables, two at the end", "[[particles]]", "[particles]]", 24, "[[particles]] if there may be several"),
    ("semicolon behind a table", "[time]", "[time];", 2, "nothing stands behind the name of a table: [time]"),
    ("blank in the name of a table", "[materials.steel]", "[materials.stainless steel]", 15, "[materials.stainless_steel]"),
    ("table of XML", "[time]", "<time>", 2, "is written [time]"),
    ("no zero before the point", RADIUS, "radius = .01\n", 26, "this number is written 0.01"),
    ("no zero behind the point", END, "end = 1.\n", 4, "this number is written 1"),
    ("exponent of Fortran", "youngs_modulus = 1e7", "youngs_modulus = 1.0d7", 13, "this number is written 1e7"),
    ("leading zero", END, "end = 01\n", 4, "this number is written 1"),
    ("dash for a minus", "-9.81]", "−9.81]", 9, "a minus is a hyphen: -9.81"),
    ("formula", END, "end = 2*3.14\n", 4, "no formulas"),
    ("power", END, "end = 10^-3\n", 4, "no formulas"),
    ("pi", END, "end = pi\n", 4, "no formulas"),
    ("variable", RADIUS, "radius = ${r}\n", 26, "no variables"),
    ("comma before a brace", "above = 5}", "above = 5,}", 48, "no comma before its }"),
    ("table over lines", FILL, "fill = {\n  count = 10,\n}\n", 27, "begins and ends on one line"),
    ("table without commas", "{count = 10, lower", "{count = 10 lower", 27, "separated by commas"),
    ("table twice", "[output]", "[time]\nstep = 1e-4\n[output]", 52, "is there already, in line 2"),
    ("particles twice", "[[particles]]", "[particles]\na = 1\n[particles]", 26, "[[particles]] with two brackets"),
    ("one of two with one bracket", "[[particles]]", "[particles]\na = 1\n[[particles]]", 26, "in line 24 as well"),
    ("key twice", RADIUS, RADIUS + "radius = 0.02\n", 27, "given twice, first in line 26"),
    ("part of a wall before it", "[[walls]]\nname = \"floor\"", "[walls.rotation]\nrate = 2\n[[walls]]\nname = \"floor\"", 38, "put it behind its [[walls]]"),
    ("blank of a web page", END, "end = 1.0\u00a0# s\n", 4, "type a space"),
    ("file in JSON", TITLE, '{"title": "Drum"}\n', 1, "looks like JSON"),
]  # fmt: skip
"""Name, text that is replaced, by what, number of the line that is named, and the remedy."""

VALUES = [
    ("gravity as a number", "gravity = [0.0, 0.0, -9.81]", "gravity = -9.81", "domain.gravity = -9.81", "three numbers [x, y, z] in m/s^2, for example [0.0, 0.0, -9.81]"),
    ("two components", LOWER, "lower = [0, 0]\n", "domain.lower", "three numbers [x, y, z] in m"),
    ("decimal commas of whole numbers", LOWER, "lower = [0,5, 0,5, 0]\n", "domain.lower", "0.5, not 0,5"),
    ("corner as a number", LOWER, "lower = 0\n", "domain.lower", "three numbers [x, y, z] in m"),
    ("list as a text", LOWER, 'lower = "[0, 0, 0]"\n', "domain.lower", "without quotes: [0, 0, 0]"),
    ("amplitude as a number", "rotation = {rate = 2.0, axis = [0.0, 1.0, 0.0]}", "oscillation = {amplitude = 0.002, frequency = 15}", "walls[1].oscillation.amplitude = 0.002", "three numbers [x, y, z] in m"),
    ("axis as a letter", "axis = [0.0, 1.0, 0.0]", 'axis = "y"', 'walls[1].rotation.axis = "y"', "three numbers [x, y, z]"),
    ("velocity as a speed", "velocity = [0.0, 0.0, -1.0]", "velocity = -1", "particles[0].velocity = -1", "three numbers [x, y, z] in m/s"),
    ("periodic as a word", PERIODIC, "periodic = false\n", "domain.periodic", "each true or false"),
    ("periodic as numbers", PERIODIC, "periodic = [0, 0, 1]\n", "domain.periodic", "each true or false"),
    ("true as a text", "snapshots_every = 0.01", 'energies = "True"', "output.energies", "without quotes: true"),
    ("one bracket of particles", "[[particles]]", "[particles]", "particles:", "[[particles]] with two brackets"),
    ("one bracket of insertions", "[[insertions]]", "[insertions]", "insertions:", "[[insertions]] with two brackets"),
    ("one bracket of stages", "[[stages]]", "[stages]", "stages:", "[[stages]] with two brackets"),
    ("one bracket of sensors", "[[sensors]]", "[sensors]", "sensors:", "[[sensors]] with two brackets"),
    ("two brackets of materials", "[materials.grain]", '[[materials]]\nname = "grain"', "materials", "[materials.grain] in place of [[materials]]"),
    ("material without a name", "[materials.grain]\ndensity", "[materials]\ndensity", "materials:", "[materials.NAME]"),
    ("interaction without a name", "[interactions.grain-grain]", "[interactions]", "interactions:", "[interactions.default]"),
    ("rolling as a number", 'rolling = {model = "spring", friction = 0.1}', "rolling = 0.1", "rolling = 0.1", 'rolling = {model = "spring"'),
    ("rolling as a number, short", 'rolling = {model = "spring", friction = 0.1}', "rolling = 0.1", "rolling = 0.1", "rolling_friction = 0.1"),
    ("rotation as a number", "rotation = {rate = 2.0, axis = [0.0, 1.0, 0.0]}", "rotation = 20", "walls[1].rotation = 20", "rotation = {rate = "),
    ("fill as a number", FILL, "fill = 100\n", "particles[0].fill = 100", "fill = {count = "),
    ("until as a number", 'until = {quantity = "particles", above = 5}', "until = 5", "stages[0].until = 5", "until = {quantity = "),
    ("time as a number", "[time]\nstep = 1e-5\nend = 1.0\n", "time = 1.0\n", "time = 1.0", "time = {end = "),
    ("rpm as a text", "rate = 2.0", 'rate = "20 rpm"', "walls[1].rotation.rate", "{rpm = 20}"),
    ("omega", "rate = 2.0", "omega = 2.0", "walls[1].rotation.omega", "'rate'"),
    ("two rates", "rate = 2.0", "rate = 2.0, rpm = 20", "walls[1].rotation:", "keep one of them"),
    ("law by half its name", '"hertz-mindlin"', '"hertz"', 'law = "hertz"', 'did you mean "hertz-mindlin"?'),
    ("law in capitals", '"hertz-mindlin"', '"Hertz-Mindlin"', "law", 'did you mean "hertz-mindlin"?'),
    ("law by its letters", '"hertz-mindlin"', '"hm"', "law", 'did you mean "hertz-mindlin"?'),
    ("law of LAMMPS", '"hertz-mindlin"', '"gran/hooke"', "law", 'did you mean "linear"?'),
    ("adhesion as a law", '"hertz-mindlin"', '"jkr"', "law", 'adhesion = {model = "jkr"'),
    ("model in place of law", 'law = "hertz-mindlin"', 'model = "hertz-mindlin"', "model", "did you mean 'law'?"),
    ("rolling model in brackets", '"spring"', '["spring"]', "rolling.model", 'must be one of "constant-torque", "spring"'),
    ("rolling model of LIGGGHTS", '"spring"', '"epsd"', "rolling.model", 'did you mean "spring"?'),
    ("restitution in words", "restitution = 0.4\nrolling", "coefficient_of_restitution = 0.4\nrolling", "coefficient_of_restitution", "did you mean 'restitution'?"),
    ("restitution of LIGGGHTS", "restitution = 0.4\nrolling", "coefficientRestitution = 0.4\nrolling", "coefficientRestitution", "did you mean 'restitution'?"),
    ("restitution by its letters", "restitution = 0.4\nrolling", "COR = 0.4\nrolling", "COR", "did you mean 'restitution'?"),
    ("restitution in percent", "restitution = 0.4\nrolling", "restitution = 40\nrolling", "restitution = 40", "40 % is 0.4"),
    ("friction by its letter", "friction = 0.5\nrestitution = 0.4\nrolling", "mu = 0.5\nrestitution = 0.4\nrolling", "mu = 0.5", "did you mean 'friction'?"),
    ("friction as a text", "friction = 0.5\nrestitution = 0.4\nrolling", 'friction = "0,5"\nrestitution = 0.4\nrolling', "friction", "without quotes: 0.5"),
    ("cohesion", "friction = 0.5\nrestitution = 0.4\nrolling", "friction = 0.5\ncohesion = 5.0\nrestitution = 0.4\nrolling", "cohesion", "adhesion = {model"),
    ("modulus of LIGGGHTS", "youngs_modulus", "youngsModulus", "materials.grain.youngsModulus", "did you mean 'youngs_modulus'?"),
    ("modulus by its letter", "youngs_modulus", "E", "materials.grain.E", "did you mean 'youngs_modulus'?"),
    ("shear modulus of EDEM", "youngs_modulus", "shear_modulus", "materials.grain.shear_modulus", "E = 2 (1 + nu) G"),
    ("modulus with a unit", "youngs_modulus = 1e7", 'youngs_modulus = "10 MPa"', "youngs_modulus", "in SI units: 1e7"),
    ("Poisson's ratio of LIGGGHTS", "poisson_ratio", "poissonsRatio", "materials.grain.poissonsRatio", "did you mean 'poisson_ratio'?"),
    ("Poisson's ratio in percent", "poisson_ratio = 0.25", "poisson_ratio = 25", "poisson_ratio = 25", "25 % is 0.25"),
    ("density by its letters", "density = 2500.0", "rho = 2500.0", "materials.grain.rho", "did you mean 'density'?"),
    ("density with a unit", "density = 2500.0", 'density = "2.5 g/cm3"', "density", "in SI units: 2500"),
    ("diameter", RADIUS, "diameter = 0.02\n", "particles[0].diameter", "pdem takes the radius, which is half of it"),
    ("radius with a unit", RADIUS, 'radius = "5 mm"\n', "particles[0].radius", "in SI units: 0.005"),
    ("radius as a list", RADIUS, "radius = [0.01]\n", "particles[0].radius", "without brackets: 0.01"),
    ("density of particles", RADIUS, "radius = 0.01\ndensity = 2500\n", "particles[0].density", "materials.NAME.density"),
    ("number in place of count", "{count = 10,", "{number = 10,", "particles[0].fill.number", "did you mean 'count'?"),
    ("number of LIGGGHTS", "{count = 10,", "{nparticles = 10,", "particles[0].fill.nparticles", "did you mean 'count'?"),
    ("count with an exponent", "{count = 10,", "{count = 1e4,", "particles[0].fill.count", "10000"),
    ("count as a text", "{count = 10,", '{count = "10",', "particles[0].fill.count", "without quotes: 10"),
    ("count beside the fill", FILL, FILL + "count = 100\n", "particles[0].count", "particles.fill.count"),
    ("flow of LIGGGHTS", "mass_rate = 0.5", "massflowrate = 0.5", "insertions[0].massflowrate", "did you mean 'mass_rate'?"),
    ("rate with a unit", "mass_rate = 0.5", 'mass_rate = "1.8 t/h"', "insertions[0].mass_rate", "in SI units: 0.5"),
    ("distribution by another name", '"uniform"', '"gaussian"', "insertions[0].radius.distribution", 'did you mean "normal"?'),
    ("face by another name", '"disc"', '"circle"', "insertions[0].face.shape", 'did you mean "disc"?'),
    ("wall by another name", '"plane"', '"floor"', "walls[0].shape", 'did you mean "plane"?'),
    ("wall in capitals", '"plane"', '"Plane"', "walls[0].shape", 'did you mean "plane"?'),
    ("stl", MESH, 'stl = "drum.stl"\n', "walls[1]: needs a surface: stl", 'mesh = "drum.stl"'),
    ("file of a wall", MESH, 'file = "drum.stl"\n', "walls[1]: needs a surface: file", 'mesh = "drum.stl"'),
    ("path with an eaten backslash", MESH, 'mesh = "parts\\new.stl"\n', "walls[1].mesh", "parts/new.stl"),
    ("material in capitals", 'material = "grain"\nradius = 0.01', 'material = "Grain"\nradius = 0.01', "particles[0].material", "did you mean 'grain'?"),
    ("end of LIGGGHTS", END, "endtime = 1.0\n", "time.endtime", "did you mean 'end'?"),
    ("no end", END, "", "time.end: is missing", "simulated time at which the run ends"),
    ("time step", "step = 1e-5", "timestep = 1e-5", "time.timestep", "did you mean 'step'?"),
    ("dt", "step = 1e-5", "dt = 1e-5", "time.dt", "did you mean 'step'?"),
    ("step as a text", "step = 1e-5", 'step = "1e-5"', "time.step", "without quotes: 1e-5"),
    ("time with a unit", END, 'end = "1 s"\n', "time.end", "in SI units: 1"),
    ("what leaves", '"remove"', '"delete"', "domain.outside", 'did you mean "remove"?'),
    ("section in capitals", "[time]", "[Time]", "Time", "did you mean 'time'?"),
    ("section by another name", "[domain]", "[box]", "box", "did you mean 'domain'?"),
    ("geometry", '[[walls]]\nname = "floor"\nshape = "plane"\nnormal = [0.0, 0.0, 1.0]\nmaterial = "steel"\n', '[[geometry]]\nname = "floor"\n', "geometry", "did you mean 'walls'?"),
    ("gravity at the top", TITLE, "gravity = [0, 0, -9.81]\n", "gravity", "domain.gravity"),
    ("time step at the top", TITLE, "timestep = 1e-5\n", "timestep", "time.step"),
    ("motion without a name", "[output]", "[motions]\nrotation = {rate = 1, axis = [0, 0, 1]}\n[output]", "motions:", "[motions.NAME]"),
    ("search by another name", "[output]", '[detection]\nmethod = "grid"\n[output]', "detection.method", 'did you mean "hgrid"?'),
    ("bisection of LAMMPS", "[output]", '[decomposition]\nmethod = "rcb"\n[output]', "decomposition.method", 'did you mean "bisection"?'),
    ("bonds", "[output]", "[bonds]\na = 1\n[output]", "bonds.a", "must be a table"),
    ("dump", "snapshots_every", "dump", "output.dump", "did you mean 'snapshots_every'?"),
    ("directory", "folder =", "directory =", "output.directory", "did you mean 'folder'?"),
    ("pair with an underscore", "[interactions.grain-grain]", "[interactions.grain_grain]", "interactions.grain_grain", "did you mean 'grain-grain'?"),
    ("gravity with a comma", "-9.81]", "-9,81]", "domain.gravity", "0.5, not 0,5"),
    ("two radii", RADIUS, "radius = [0.01, 0.02]\n", "particles[0].radius", 'distribution = "uniform", min'),
    ("material in brackets", 'material = "grain"\nradius = 0.01', 'material = ["grain"]\nradius = 0.01', "particles[0].material", 'without brackets: "grain"'),
    ("two meshes", MESH, 'mesh = ["drum.stl", "lid.stl"]\n', "walls[1].mesh", "one [[walls]] for each"),
    ("static and dynamic friction", "friction = 0.5\nrestitution = 0.4\nrolling", "friction = {static = 0.5, dynamic = 0.4}\nrestitution = 0.4\nrolling", "friction", "dynamic_friction = ..."),
    ("end without its section", "[time]\nstep = 1e-5\nend = 1.0\n", "end = 1.0\n", "end = 1.0", "did you mean time.end"),
    ("material as a section", "[materials.steel]", "[materials.steel]\n[rubber]\ndensity = 1100.0", "rubber", "did you mean [materials.rubber]?"),
    ("law as a section", "[materials.steel]", "[materials.steel]\n[steel-steel]\nfriction = 0.3\nrolling_friction = 0.1", "steel-steel", "did you mean [interactions.steel-steel]?"),
    ("centre by another spelling", "centre = [0.5", "center = [0.5", "insertions[0].face.center", "did you mean 'centre'?"),
    ("quantity", '"particles", above', '"n_particles", above', "stages[0].until.quantity", "did you mean 'particles'?"),
]  # fmt: skip
"""Name, text that is replaced, by what, the key as the message shows it, and the remedy."""
