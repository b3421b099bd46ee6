"""Fixtures of this folder's tests."""

from tests.support.ray_nodes import cluster  # noqa: F401 - a fixture
