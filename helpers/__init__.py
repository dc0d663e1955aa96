"""Measuring, proving, plotting and running: what the notebooks of this series use."""
