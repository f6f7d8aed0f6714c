"""The version of pdem, importable from every package."""

from __future__ import annotations

VERSION = "0.2.0"
