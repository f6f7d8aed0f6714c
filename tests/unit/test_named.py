"""Things by name: errors say which there are, or why there are none."""

from __future__ import annotations

import copy
import pickle

import pytest

from pdem.foundation.errors import InputError
from pdem.foundation.named import Named


def test_a_name_that_is_not_there_is_explained():
    walls = Named({"gate": 1, "lid": 2}, "wall", "never said")
    assert (walls["lid"], walls.get("gat"), "gat" in walls, list(walls)) == (2, None, False, ["gate", "lid"])
    for one in (walls, copy.deepcopy(walls), pickle.loads(pickle.dumps(walls))):
        assert one == {"gate": 1, "lid": 2}
        with pytest.raises(InputError, match="there is no wall 'gat'; did you mean 'gate'"):
            one["gat"]
    none = Named({}, "wall", "the case has no walls")
    assert none == {}
    with pytest.raises(InputError, match="the case has no walls"):
        none["gate"]
