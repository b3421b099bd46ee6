"""All but the list of packages stands in setup.cfg: `trainers/` and `wrappers/` are imported under other names."""

from setuptools import find_packages, setup

setup(
    packages=[
        *find_packages(include=["metagym", "metagym.*", "metagym_envs", "metagym_envs.*"]),
        "metagym_trainers",
        *(f"metagym_trainers.{name}" for name in find_packages("trainers")),
        "metagym_wrappers",
    ]
)
