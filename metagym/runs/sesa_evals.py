"""Evaluations of SESA side by side, read from their run folders."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from metagym.errors import MetaGymError, RunError
from metagym.runs.folder import RunFolder, manifest_differences, shortened
from metagym.runs.results import EVAL, Results, load_results
from metagym.runs.sesa_results import bank_path, is_sesa_eval, load_sesa, state_name
from metagym.sesa.config import SesaConfig
from metagym.sesa.deploy import DEPLOYMENTS
from metagym.sesa.evaluate import EvalConfig
from metagym.sesa.rollouts import RolloutSettings
from metagym.sesa.scores import Column, Scores, score_table
from metagym.sesa.skills import SkillBank


def load_evaluation(run: RunFolder | str | os.PathLike[str]) -> Results:
    """Reads a run folder of ``metagym sesa eval``; its arms are the deployments.

    Raises:
        RunError: It is none.
        StoreError: It cannot be read.
    """
    results = load_results(run)
    if not is_sesa_eval(results.manifest):
        where = run.path if isinstance(run, RunFolder) else run
        raise RunError(f"{where} is a run of {results.manifest.get('command', 'something else')!r}, not of 'sesa eval'")
    return results


def evaluation_scores(
    run: RunFolder | str | os.PathLike[str], against: str | os.PathLike[str] | None = None, seed: int = 0
) -> Scores:
    """The paired table of an evaluation.

    Args:
        run: Its folder.
        against: An evaluation of a baseline (SSP) on the same questions, deployed ``off``: what training with skills
            left in the parameters is measured against it.
        seed: Decides the resampling.

    Raises:
        RunError: They are not alike; the message names the field. Or the baseline was not deployed ``off``.
        StoreError, StoreCorrupt: A folder cannot be read.
    """
    own = load_evaluation(run)
    run = run.path if isinstance(run, RunFolder) else run
    columns = _columns(own)
    if against is not None:
        other = load_evaluation(against)
        for name, left, right in manifest_differences(own.manifest.get("card"), other.manifest.get("card"), "card"):
            raise RunError(
                f"{run} and {against} are not alike: {name} is {shortened(left)} in the first and {shortened(right)} "
                "in the second, so their success rates do not mean the same"
            )
        if "off" not in other.arms:
            raise RunError(f"{against} was not deployed 'off': nothing to measure the carry-over against")
        columns = [Column("baseline", other.episodes("off", 0, EVAL), "baseline"), *columns]
    if not columns:
        raise RunError(f"{run} holds no episode yet; let it go on first")
    try:
        return score_table(columns, seed)
    except MetaGymError as error:
        raise RunError(f"{run} cannot be compared: {error}") from error


def eval_settings(
    run: str | os.PathLike[str] | None,
    bank: str | os.PathLike[str] | None,
    deployments: Sequence[str] | None,
    settings: Mapping[str, Any],
    rollout: Mapping[str, Any],
) -> tuple[EvalConfig, Path | None, str]:
    """The settings of an evaluation, taken from a run where they are not given.

    The seed is none of them: runs of several seeds are evaluated on the same questions.

    Args:
        run: A folder of ``metagym sesa run``; None takes the defaults of `EvalConfig`.
        bank: The bank; None takes the run's.
        deployments: What to deploy; None takes ``off``, and the others where there is a bank.
        settings: Fields of `EvalConfig`; None means not given.
        rollout: Fields of its ``rollout``; likewise.

    Returns:
        The settings, where the bank is, and which state of it that is, in words.

    Raises:
        RunError, StoreError: The run or the bank cannot be read.
        BadInput: The settings are not usable.
    """
    given = {name: value for name, value in settings.items() if value is not None}
    searching = {name: value for name, value in rollout.items() if value is not None}
    base: dict[str, Any] = {}
    how = RolloutSettings(temperature=0.0)
    where, state = None if bank is None else Path(bank), "named by hand"
    if run is not None:
        with RunFolder.open(run) as folder:
            results = load_sesa(folder)
            trained = SesaConfig.from_json(folder.manifest.get("config", {}))
            if where is None and folder.manifest.get("bank") != "none":
                where = bank_path(folder)
                if deployments is None or set(deployments) != {"off"}:
                    with SkillBank.open(where, read_only=True) as opened:
                        state = state_name(results, opened.seq)
        same = "material searcher solver scorer judge retrieve_k max_skill_tokens hops"
        base = {name: getattr(trained, name) for name in same.split()} | {"data": trained.held_out}
        how = replace(trained.rollout, temperature=0.0)
        if "scorer" in given and "judge" not in given:
            base["judge"] = trained.judge if "judge" in given["scorer"] else None
    if "material" in given and "searcher" not in given:
        base.pop("searcher", None)
    if deployments is None:
        deployments = ("off",) if where is None else DEPLOYMENTS
    config = EvalConfig(**{**base, **given}, deployments=tuple(deployments), rollout=replace(how, **searching))
    return config, where, state if config.reads_bank else ""


def _columns(results: Results) -> list[Column]:
    """The deployments that are complete; one that was cut off is no deployment to compare."""
    found: Sequence[Column] = [Column(name, results.episodes(name, 0, EVAL), name) for name in results.arms]
    most = max((len(column.episodes) for column in found), default=0)
    return [column for column in found if len(column.episodes) == most]
