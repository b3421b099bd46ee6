"""Evaluation: benchmarks as data, what is measured on them, and what must be equal before two results are compared.

* `benchmarks`: a benchmark names a registered family and how it is played; suites of them, by name.
* `presets`: the settings of the papers.
* `suites`: the suites that come with MetaGym.
* `tasks`: the tasks of a benchmark.
* `card`: what must be equal for two figures to mean the same.
* `run`: plays benchmarks, with records.
* `measures`: avg@k, pass@k, maj@k and what else is told of the episodes.
* `pairs`: two results compared task by task.
* `contamination`: training tasks in a test set.

Run folders of it are made by `metagym.runs.evals` and read by `metagym.runs.evals_results`.
"""

from metagym.evaluation.benchmarks import Benchmark, Sampling, Suite, load_suite, register_suite, suite_names

__all__ = ["Benchmark", "Sampling", "Suite", "load_suite", "register_suite", "suite_names"]
