"""Cost of a million images: the arithmetic, and rows that say when they were read."""

from datetime import date

import pytest

from helpers.prices import PRICES, cost_per_million


def test_a_million_images_at_the_articles_rate():
    # 12 images/s need 23.1 hours for a million
    assert cost_per_million(12, 0.1595) == pytest.approx(0.1595 * 1e6 / 12 / 3600)
    assert cost_per_million(12, 0.1595) == pytest.approx(3.69, abs=0.01)


def test_twice_as_fast_costs_half():
    assert cost_per_million(20, 1) == pytest.approx(cost_per_million(10, 1) / 2)


@pytest.mark.parametrize(
    ("rate", "price"), [(0, 1), (-1, 1), (float("nan"), 1), (1, -1), (1, float("nan"))]
)
def test_nonsense_is_refused(rate, price):
    with pytest.raises(ValueError, match="above 0"):
        cost_per_million(rate, price)


@pytest.mark.parametrize("price", PRICES.values(), ids=PRICES)
def test_every_price_says_where_and_when_it_was_read(price):
    assert date.fromisoformat(price.read)
    assert price.source
    assert 0 < price.usd_per_hour < 100
