"""The twelve stages, in their order; the first that refuses ends the walk."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

from metagym.chat.types import ChatModel
from metagym.errors import BadInput, ProgramError, ProgramKilled, ProgramRejected
from metagym.sandbox import Limits, Program, SandboxPool, default_pool
from metagym.seeding import derive
from metagym.spade.fingerprint import AstFingerprint, ast_fingerprint, behaviour_fingerprint
from metagym.spade.program import EnvProgram, digest_of
from metagym.spade.validation.audit import check_audit
from metagym.spade.validation.cache import ReportCache
from metagym.spade.validation.contract import check_garbage, check_walks, killed, probes, tools_of
from metagym.spade.validation.leaks import check_leaks
from metagym.spade.validation.novelty import check_novelty
from metagym.spade.validation.policies import Form, constant, reader
from metagym.spade.validation.repeats import check_repeats, check_seeds_matter
from metagym.spade.validation.report import CODES, MAX_DETAIL, STAGES, VERSION, Refusal, ValidationReport
from metagym.spade.validation.settings import ValidationSettings
from metagym.spade.validation.static import check_static, from_policy, parsed
from metagym.spade.validation.trivial import check_trivial, exchanged
from metagym.spade.validation.walks import Plan, Walk, play_all
from metagym.spade.validation.worth import check_length, check_references, references

LIMITS = Limits(cpu_s=60.0)
"""Limits where nothing else is said: a validation plays some thousands of steps in one worker."""

_OTHER_HASH_SEED = 20_260_819

_MEETINGS = (1, 2, 3)
"""Seeds of the behaviour's fingerprint. They are the same for all programs, or no two could be seen to behave alike."""


def validate(
    source: str | bytes,
    *,
    settings: ValidationSettings | None = None,
    known: Sequence[AstFingerprint] = (),
    auditor: ChatModel | None = None,
    pools: Sequence[SandboxPool] | None = None,
    limits: Limits | None = None,
    cache: ReportCache | None = None,
) -> ValidationReport:
    """Proves that a program is a fair environment, or says why it is none.

    Equal arguments give equal reports, whatever the process, but for limits of time. It blocks:
    coroutines call it by ``asyncio.to_thread``.

    Args:
        source: What the designer wrote; any text, any bytes.
        settings: How strict; the defaults where None.
        known: Fingerprints of the programs that it must differ from.
        auditor: A model that reads the program; asked if the settings say so.
        pools: Two sandboxes (or more) with different hash seeds; where None, two that all callers share.
        limits: Of the program in each worker; where None, those of the given pools, or `LIMITS`.
        cache: Where reports of equal sources, settings, limits, kinds of sandbox and Python versions may be found and
            are kept.

    Raises:
        SandboxUnavailable: There is no sandbox here; the program was not run.
        BadInput: `source` is neither text nor bytes, or there are no two pools of different hash seeds (pools within
            this process have none, and are not asked).
        ChatError: One of the auditor that ends a whole run (the budget is spent).
        StoreError: The cache cannot be read or written.
    """
    if not isinstance(source, (str, bytes)):
        raise BadInput(f"a program is text or bytes, got {type(source).__name__}")
    settings = settings or ValidationSettings()
    report, program = _proved(source, settings, pools, limits, cache)
    if program is None:
        return report
    assert report.fingerprint is not None
    metrics, flags = dict(report.metrics), report.flags
    try:
        if settings.novelty:
            similarity = check_novelty(report.fingerprint, known, settings)
            if similarity is not None:
                metrics["similarity"] = similarity
        flags = check_audit(program, auditor, settings)
    except Refusal as refusal:
        return _refused(replace(report, metrics=metrics), refusal)
    return replace(report, metrics=metrics, flags=flags, stage=STAGES[-1] if settings.audit != "off" else "novelty")


def validation_pools() -> tuple[SandboxPool, SandboxPool]:
    """The two sandboxes that callers without one share, made at first use."""
    global _second
    with _lock:
        if _second is None:
            _second = SandboxPool(hash_seed=_OTHER_HASH_SEED)
        return default_pool(), _second


_second: SandboxPool | None = None
_lock = threading.Lock()


def _forget() -> None:
    """A forked child has the pool's memory but none of its workers."""
    global _second, _lock
    _second, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)


def _proved(
    source: str | bytes,
    settings: ValidationSettings,
    pools: Sequence[SandboxPool] | None,
    limits: Limits | None,
    cache: ReportCache | None,
) -> tuple[ValidationReport, EnvProgram | None]:
    """Stages 1 to 10: the report, and the program if they were passed."""
    digest = hashlib.sha256(source).hexdigest() if isinstance(source, bytes) else digest_of(source)
    report = ValidationReport(True, digest, metrics={"chars": len(source)})
    try:
        program = parsed(source)
        report = replace(report, fingerprint=ast_fingerprint(program.source), digest=program.digest)
        check_static(program)
    except Refusal as refusal:
        return _refused(report, refusal), None
    if pools is None:
        pools, limits = validation_pools(), limits or LIMITS
    key = f"{program.digest}/{VERSION}/{settings.key()}/{_conditions(pools, limits)}"
    kept = cache.get(key) if cache is not None else None
    if kept is not None:
        report = ValidationReport.from_json(kept)
        return report, program if report.ok else None
    trial = _Trial(program, settings, pools, limits, report)
    try:
        trial.run()
        report, steady = replace(trial.report, stage="length"), True
    except Refusal as refusal:
        report, steady = _refused(trial.report, refusal), refusal.steady
    if cache is not None and steady:
        cache.put(key, report.to_json())
    return report, program if report.ok else None


def _conditions(pools: Sequence[SandboxPool], limits: Limits | None) -> str:
    """Digest of what a verdict depends on beside program and settings, 16 hex digits.

    What its workers may use up, what the pools let a program do (one without NumPy refuses what another accepts, one
    within this process proves nothing about confinement), and the Python that reads and runs it.

    Raises:
        BadInput: No two pools show what depends on the hash seed.
    """
    found = [pool.conditions for pool in pools]
    kinds = [
        {**one, "hash_seed": None, "limits": (limits or pool.limits).to_json()}  # any two seeds judge alike
        for one, pool in zip(found, pools, strict=True)
    ]
    seeds = {one["hash_seed"] for one in found if one["isolation"] == "process"}
    if len(pools) < 2 or len(seeds) == 1:
        raise BadInput(
            f"a validation needs two pools with different hash seeds, got {len(pools)} with {sorted(seeds) or 'none'}"
        )
    data = json.dumps([sys.version_info[:2], kinds], sort_keys=True)
    return hashlib.blake2b(data.encode(), digest_size=8).hexdigest()


def _refused(report: ValidationReport, refusal: Refusal) -> ValidationReport:
    return replace(
        report,
        ok=False,
        code=refusal.code,
        stage=CODES[refusal.code],
        detail=refusal.detail[:MAX_DETAIL],
        line=refusal.line,
    )


class _Trial:
    """Stages 3 to 10 on one program; `report` grows by what was measured."""

    def __init__(
        self,
        program: EnvProgram,
        settings: ValidationSettings,
        pools: Sequence[SandboxPool],
        limits: Limits | None,
        report: ValidationReport,
    ) -> None:
        self.program, self.settings, self.pools, self.report = program, settings, pools, report
        self.limits = limits
        root = settings.seed
        self.seeds = [derive(root, "validation", program.digest, index) >> 32 for index in range(settings.seeds)]

    def run(self) -> None:
        """Raises the first refusal."""
        with self._loaded(self.pools[0]) as player:
            try:
                self._play(player)
            except ProgramKilled as error:
                raise killed(error) from None

    def _play(self, player: Program) -> None:
        program, settings = self.program, self.settings
        form = Form.of(program, tools_of(program, player))
        self.report = replace(self.report, seeds=tuple(self.seeds))
        walks = play_all(player, probes(program, form, self.seeds, settings.seed))
        check_walks(program, walks)
        self._measure(probe_steps=sum(len(walk.steps) - 1 for walk in walks) / len(walks))
        found = references(program, player, self.seeds)
        self.report = replace(self.report, behaviour=self._behaviour(player, form))
        whole = [reference.walk for reference in found if not reference.trouble]
        others, taken = exchanged(program, player, found)
        check_walks(program, [*(walk for walk in whole if walk.over), *others])
        for pool in self.pools[1:]:
            with self._loaded(pool) as other:
                check_repeats(other, [*walks, *whole, *others])
        check_seeds_matter(walks, whole)
        garbage = check_garbage(program, player, self.seeds, whole)
        share = check_references(program, found, settings)
        self._measure(oracle_share=share)
        shares, trivial = check_trivial(program, player, form, found, walks, taken, settings)
        self._measure(trivial=shares)
        check_leaks(program, found, [*walks, *garbage, *trivial, *others])
        self._measure(oracle_steps=check_length(found, settings))

    def _behaviour(self, player: Program, form: Form) -> str:
        """What the program does on seeds and under draws that are the same for all programs, and when it is solved."""
        plans = []
        for seed in _MEETINGS:
            policies = {f"reader/{turn}": reader(form, 0, "behaviour", turn) for turn in range(3)}
            policies["constant/1"] = constant(form, "1")
            plans += [Plan(name, seed, policy, self.program.max_steps) for name, policy in policies.items()]
        solved = [reference.walk for reference in references(self.program, player, _MEETINGS)]
        return behaviour_fingerprint(_traces([*play_all(player, plans), *solved]))

    def _measure(self, **found: Any) -> None:
        self.report = replace(self.report, metrics={**self.report.metrics, **found})

    @contextmanager
    def _loaded(self, pool: SandboxPool) -> Iterator[Program]:
        """Stage 3: the program in a worker of its own."""
        try:
            player = pool.load(self.program.source, limits=self.limits)
        except ProgramRejected as refused:
            raise from_policy(refused) from None
        except ProgramKilled as error:
            raise killed(error, loading=True) from None
        except ProgramError as error:
            raise Refusal("load_error", f"the program failed while it was loaded: {error}") from None
        with closing(player):
            info = player.describe()
            self.report = replace(self.report, layers=info.layers, isolation=info.isolation)
            chosen = self.program.class_name
            if info.class_name != chosen and not chosen.startswith("_"):
                raise Refusal(
                    "several_env_classes",
                    f"{chosen} and {info.class_name} may both be meant as the environment: write one class",
                    self.program.line,
                )
            yield player


def _traces(walks: Sequence[Walk]) -> dict[str, list[tuple[Any, ...]]]:
    """What the players saw, by policy and seed."""
    return {
        f"{walk.name}/{walk.seed}": [
            (step.observation, step.reward, step.terminated, step.truncated) for step in walk.steps
        ]
        for walk in walks
    }
