"""All but the list of packages stands in setup.cfg: `trainers/` is imported under the name `metagym_trainers`."""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["metagym", "metagym.*", "metagym_envs", "metagym_envs.*"]),
        "metagym_trainers",
        *(f"metagym_trainers.{name}" for name in find_packages("trainers")),
    ]
)
