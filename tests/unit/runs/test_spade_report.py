"""The report of a run of SPADE: complete, bounded, harmless whatever designers write, readable in a real browser."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from metagym.errors import RunError, StoreCorrupt
from metagym.runs.folder import RunFolder, base_manifest
from metagym.runs.report import MAX_BYTES, write_report
from metagym.runs.report.spade import render_spade
from metagym.runs.spade import run_spade_sync
from metagym.runs.spade_notices import spade_notices
from metagym.runs.spade_results import load_spade
from metagym.spade.config import SpadeConfig, ablated
from metagym.spade.stand_ins.programs import number_lock
from tests.unit.runs.synthetic import a_manifest
from tests.unit.runs.test_report import HOSTILE, Page, check_harmless, run_browser
from tests.unit.spade.running import config, inside, run

HOSTILE_TEXT = HOSTILE.replace("\x00", "").replace("\ud800", "").replace('"""', "")


def hostile(request: Any) -> str:
    """A designer whose titles, skills and prose try to break out of the page."""
    if (request.seed or 0) % 3 == 0:
        return HOSTILE
    source = number_lock(2 + (request.seed or 0) % 3, ["ledger"])
    title = " ".join(HOSTILE_TEXT.split()).replace("\\", "")
    return "```python\n" + re.sub(r"title: .*", lambda _: f"title: {title}", source, count=1) + "```"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    skills = ("Optimization", "Spatial Reasoning")
    settings = config(rounds=4, programs=4, interval=2, skills=skills, agent="scripted:skill?theta=3")
    return run_spade_sync(settings, tmp_path_factory.mktemp("spade") / "run", pools=inside())


def page(path: Path) -> tuple[str, Page]:
    file = write_report(path)
    text = file.read_bytes().decode("utf-8")
    assert len(text.encode()) < MAX_BYTES
    parsed = Page(text)
    check_harmless(text, parsed)
    return text, parsed


def test_the_report_shows_every_environment_its_source_figures_and_refusals(folder: Path) -> None:
    text, parsed = page(folder)
    results = load_spade(folder)
    assert results.environments
    for one in results.environments:
        assert one.digest[:12] in parsed.text
        assert " ".join(one.design.program.source.split()[-12:]) in parsed.text
        assert one.first is not None and one.first.estimate.p0.interval() in parsed.text
    for code, count in results.statistics["designs"]["codes"].items():
        assert code in parsed.text.replace(" ", "") and str(count) in parsed.text
    for part in ("Curriculum", "Lineage", "Refused", "Usage", "Manifest", "with the hint", "Scripted stand-ins"):
        assert part in parsed.text
    assert "<script" not in text and "<svg" in text
    assert write_report(folder).read_text("utf-8") == text  # equal runs give equal pages


def test_the_lineage_tree_shows_children_below_their_parents(folder: Path) -> None:
    results = load_spade(folder)
    children = [one for one in results.environments if one.design.program.parents]
    _, parsed = page(folder)
    if not children:
        assert "No program names a parent" in parsed.text
    for one in children:
        assert f"made from {one.design.program.parents[0][:12]}" in parsed.text


def test_s29_how_often_each_program_was_chosen_as_an_example_is_told(folder: Path) -> None:
    results = load_spade(folder)
    chosen = [digest for slot in results.slots if slot.paid for digest in slot.design.shown["positives"]]
    assert chosen and all(results.shown[digest] >= chosen.count(digest) for digest in chosen)
    _, parsed = page(folder)
    assert parsed.text.count("shown to the designer as an example") == len(results.shown)


def test_figures_are_those_of_the_records(folder: Path) -> None:
    results = load_spade(folder)
    assert results.ended and len(results.points) == 4 and len(results.summaries) == 4
    for number, summary in results.summaries.items():
        point = results.points[number]
        assert summary["statistics"]["programs"]["win_rate"]["value"] == point.plain.value
        assert summary["fresh"] is point.fresh is (number % 2 == 0)
        assert (point.hinted.value is None) is not point.fresh or point.plain.value is None
    every = results.statistics["designs"]
    assert every["attempts"] == 8 and every["accepted"] + sum(every["codes"].values()) == 8
    assert results.plays == sum(len(s.played.outcomes) for s in results.slots if s.played is not None)


def test_an_unfinished_run_and_every_ablation_are_told(folder: Path, tmp_path: Path) -> None:
    with RunFolder.open(folder) as whole:
        rows = list(whole.records.records())
    half = RunFolder.create(tmp_path / "half", {**json.loads((folder / "manifest.json").read_text())})
    with half:
        half.records.append_many(rows[: len(rows) // 2])
    _, parsed = page(tmp_path / "half")
    assert "The run has not ended" in parsed.text
    settings = ablated(config(rounds=1, programs=2), "no-corpus", "hint-off", "pairing-off")
    other = run_spade_sync(settings, tmp_path / "ablated", pools=inside())
    _, parsed = page(other)
    assert "Ablation hint-off: no hint" in parsed.text and "ablations no-corpus, pairing-off" not in parsed.text
    assert any("Unscored" in line for line in spade_notices(load_spade(other)))


def test_nothing_designed_is_a_page_too(tmp_path: Path) -> None:
    manifest = {**base_manifest(), "command": "spade run", "config": SpadeConfig().to_json(), "versions": {}}
    with RunFolder.create(tmp_path / "empty", manifest):
        pass
    _, parsed = page(tmp_path / "empty")
    assert "no environment was accepted yet" in parsed.text and "Nothing has been designed yet" in parsed.text


def test_whatever_a_designer_writes_nothing_of_it_runs(tmp_path: Path) -> None:
    skills = (HOSTILE_TEXT[:60],)
    settings = config(designer=hostile, hinter="rules", auditor="rules", rounds=2, programs=4, skills=skills)
    # A callable is no spec for a manifest: the run's folder is written by hand.
    loop, records, _ = run(settings)
    told = replace(settings, designer="python:x:y").to_json()
    with RunFolder.create(tmp_path / "run", {**base_manifest(), "command": "spade run", "config": told}) as folder:
        folder.records.append_many((key, records.get(key)) for key in records.keys())
    _, parsed = page(tmp_path / "run")
    assert any(slot.design.ok for slot in loop.slots[0]) and "no_code" in parsed.text.replace(" ", "")


def test_a_page_stays_small_whatever_the_run(folder: Path) -> None:
    results = load_spade(folder)
    slot = next(slot for slot in results.slots if slot.design.ok)
    long = slot.design.last.source + "# " + "é<&" * 15_000
    many = []
    for number in range(300):
        source = long + f"# {number}\n"
        report = slot.design.last.report
        assert report is not None
        attempt = replace(slot.design.last, reply=None, given=source, report=replace(report, digest=f"{number:064d}"))
        many.append(replace(slot, design=replace(slot.design, attempts=(attempt,))))
    text = render_spade(replace(results, rounds=(tuple(many),)), "many")
    assert len(text.encode()) < MAX_BYTES and "left out to keep this page small" in text
    Page(text)


def test_strangers_and_damage_are_named(folder: Path, tmp_path: Path) -> None:
    with RunFolder.create(tmp_path / "ict", a_manifest()):
        pass
    with pytest.raises(RunError, match="not of SPADE"):
        load_spade(tmp_path / "ict")
    manifest = {**base_manifest(), "command": "spade run", "config": SpadeConfig().to_json()}
    with RunFolder.create(tmp_path / "bad", manifest) as made:
        made.records.append("round/0/slot/0/design", {"kind": "design", "slot": 0})
    with pytest.raises(StoreCorrupt, match="round/0/slot/0/design"):
        load_spade(tmp_path / "bad")


@pytest.mark.slow
def test_a_real_browser_shows_the_report_from_disk(folder: Path, tmp_path: Path) -> None:
    from matplotlib.image import imread

    address = write_report(folder).as_uri()
    dom = run_browser(tmp_path, "--dump-dom", address).stdout.decode("utf-8")
    for part in ('id="results"', 'id="curriculum"', 'id="environments"', 'id="lineage"', "<svg", "</footer>"):
        assert part in dom
    shot = tmp_path / "page.png"
    run_browser(tmp_path, f"--screenshot={shot}", "--window-size=1200,2400", address)
    assert imread(shot).std() > 0.02
