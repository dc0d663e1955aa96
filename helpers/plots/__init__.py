"""Figures in one style; each function returns a `Chart` with alternative text."""
