"""Figures in one style; each function returns a `Chart` with alternative text."""

from helpers.plots.boxes import box_pairs as box_pairs
from helpers.plots.break_even import Cost as Cost
from helpers.plots.break_even import break_even as break_even
from helpers.plots.break_even import paid_after as paid_after
from helpers.plots.chip import chip as chip
from helpers.plots.chip import efficiency as efficiency
from helpers.plots.chip import sbuf as sbuf
from helpers.plots.coverage import coverage as coverage
from helpers.plots.curve import curve as curve
from helpers.plots.heat_map import heat_map as heat_map
from helpers.plots.ladder import ladder as ladder
from helpers.plots.pareto import Trade as Trade
from helpers.plots.pareto import frontier as frontier
from helpers.plots.pareto import pareto as pareto
from helpers.plots.prediction import agreement as agreement
from helpers.plots.prediction import search as search
from helpers.plots.prediction import versions as versions
from helpers.plots.ranges import Timed as Timed
from helpers.plots.ranges import ranges as ranges
from helpers.plots.roofline import Ceiling as Ceiling
from helpers.plots.roofline import Point as Point
from helpers.plots.roofline import attainable as attainable
from helpers.plots.roofline import roofline as roofline
from helpers.plots.scaling import scaling as scaling
from helpers.plots.scaling import slope as slope
from helpers.plots.timeline import gantt as gantt
