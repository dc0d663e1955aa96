"""Numbers that others published."""

from helpers import published


def test_every_number_has_a_unit_and_a_source():
    for key, number in published.NUMBERS.items():
        assert number.value > 0, key
        assert number.unit, key
        assert number.source, key


def test_find_takes_all_words():
    keys = [key for key, _ in published.find("giou nki")]
    assert keys == ["giou_nki_ms"]


def test_a_number_says_that_it_is_published():
    text = str(published.NUMBERS["resnet50_baseline"])
    assert text.startswith("12 images/s (published: ")
