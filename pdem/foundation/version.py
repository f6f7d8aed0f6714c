"""The version of pdem, where every room can reach it."""

from __future__ import annotations

VERSION = "0.2.0"
