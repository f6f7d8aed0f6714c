"""Bonds that hold particles together until they break: a potential of each pair at any displacement and rotation."""
