"""Liquid that particles carry: bridges form from it, and ruptures divide it."""
