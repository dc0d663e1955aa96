"""What an hour of an instance costs, dated, and what that makes a million images cost.

Prices change and differ by region: every row says when and where it was read. To use
another, pass it; a notebook takes it as a parameter.
First used in notebook 16_graviton_results.
"""

from dataclasses import dataclass

BENCHMARKS_SPACE = (
    "instances.vantage.sh (Linux, on demand), as kept in the Hugging Face space "
    "arcee-ai/Benchmarks, results.py, commits 754d71d and 75372ac"
)


@dataclass(frozen=True)
class Price:
    """US dollars an hour; `read` is the date on which the source was read."""

    instance: str
    usd_per_hour: float
    read: str
    source: str

    def __str__(self) -> str:
        return f"{self.instance} at ${self.usd_per_hour:g}/h ({self.source})"


_LINEAR = f"a share of c8g.4xlarge by cores; {BENCHMARKS_SPACE}; confirm it"
PRICES = {
    price.instance: price
    for price in (
        Price("c8g.xlarge", 0.6381 / 4, "2026-11-30", _LINEAR),
        Price("c8g.2xlarge", 0.6381 / 2, "2026-11-30", _LINEAR),
        Price("c8g.4xlarge", 0.6381, "2026-11-30", BENCHMARKS_SPACE),
        Price("c8g.8xlarge", 1.276, "2026-11-30", BENCHMARKS_SPACE),
        Price("c8g.16xlarge", 2.552, "2026-11-30", BENCHMARKS_SPACE),
    )
}


def cost_per_million(images_per_second: float, usd_per_hour: float) -> float:
    """US dollars for a million images at a steady throughput."""
    if not images_per_second > 0 or not usd_per_hour >= 0:
        raise ValueError(
            f"{images_per_second} images/s at ${usd_per_hour}/h cost nothing sensible: "
            "the throughput must be above 0 and the price not below"
        )
    return usd_per_hour / 3600 / images_per_second * 1e6
