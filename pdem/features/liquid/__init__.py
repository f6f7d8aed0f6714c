"""Liquid that particles carry: bridges form of it, and ruptures divide it anew."""
