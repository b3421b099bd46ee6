"""Measurements behind the figures that the documentation gives; `python -m benchmarks` makes them all."""
