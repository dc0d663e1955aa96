"""OpenVINO's own benchmark: run for real, and read right."""

import pytest

from helpers import benchmark_app


def test_it_measures_a_model_of_the_series():
    assert benchmark_app.images_per_second("resnet18_64px", 2, seconds=1) > 0


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("[ INFO ] Throughput:   27.58 FPS\n", 27.58),
        ("[ INFO ]    AVG: 1 ms\n[ INFO ] Throughput:          1234 FPS", 1234.0),
    ],
)
def test_the_throughput_is_read(said, value):
    assert benchmark_app.throughput(said) == value


def test_without_a_throughput_its_last_words_are_the_reason():
    with pytest.raises(RuntimeError, match="cannot open"):
        benchmark_app.throughput("[ ERROR ] cannot open the model")
