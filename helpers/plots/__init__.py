"""Figures in one style; each function returns a `Chart` with alternative text."""

from helpers.plots.curve import curve as curve
from helpers.plots.ladder import ladder as ladder
from helpers.plots.roofline import Ceiling as Ceiling
from helpers.plots.roofline import Point as Point
from helpers.plots.roofline import roofline as roofline
