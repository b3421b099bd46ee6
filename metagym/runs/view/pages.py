"""The pages: which template draws what. All text is escaped by the templates; nothing here is HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from metagym.errors import BadInput, MetaGymError, UnknownName
from metagym.runs.report.frame import shown_manifest, templates
from metagym.runs.report.page import prompt_view, report_values
from metagym.runs.report.sesa import evaluation_values, sesa_values
from metagym.runs.report.spade import spade_values, tree_nodes
from metagym.runs.report.text import as_lines, diff, visible
from metagym.runs.sesa_evals import evaluation_scores
from metagym.runs.view import details
from metagym.runs.view.catalogue import Catalogue, Run, refuse_damaged, sentence
from metagym.runs.view.curves import charts, sesa_results, spade_results
from metagym.runs.view.lists import attempts, result
from metagym.runs.view.records import PromptLine
from metagym.runs.view.tables import eval_table

TURNS = 200
"""Turns of an episode on one page."""
TEXT = 20_000
"""Characters of one text that are shown."""
STEPS = 40
"""Prompts on one page."""
MAX_OFFERED = 2_000
"""Prompts that can be chosen from in a list; others have their addresses."""
MAX_COMPARED = 24
"""Runs that are compared at once."""

Query = Mapping[str, str]


def render(template: str, /, **values: Any) -> str:
    """A page."""
    return templates().get_template(f"view_{template}.html.j2").render({"run": None, "at": template, **values})


def runs_page(catalogue: Catalogue, query: Query) -> str:
    """The list of runs."""
    root = visible(str(catalogue.root), 200)
    return render("runs", page_title="Runs", root=root, truncated=catalogue.truncated)


def tabs(run: Run) -> list[tuple[str, str, str]]:
    """The pages of a run: name, address, label."""
    found = [("run", f"/run/{run.id}", "Overview"), ("episodes", f"/run/{run.id}/episodes", "Episodes")]
    if run.records.prompts or (run.kind == "ict" and run.records.reading is not None):
        found.append(("prompts", f"/run/{run.id}/prompts", "Prompts"))
    if run.kind == "sesa":
        found.append(("skills", f"/run/{run.id}/skills", "Skills"))
    if run.kind == "spade":
        found += [("lineage", f"/run/{run.id}/lineage", "Lineage"), ("refused", f"/run/{run.id}/refused", "Refused")]
    return found


def _of(run: Run, **values: Any) -> dict[str, Any]:
    return {"run": run, "tabs": tabs(run), "problems": [visible(text, 600) for text in run.problems], **values}


def run_page(catalogue: Catalogue, run: Run, query: Query) -> str:
    """What a run came to: the parts that its report shows, as far as its records can be believed."""
    shown: dict[str, Any] | None = None
    trouble = ""
    try:
        refuse_damaged(run)
        if run.records.reading is None:
            shown = _values(run)
    except MetaGymError as error:
        trouble = "" if run.problems else visible(sentence(error, run), 600)  # else it stands above the page
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        trouble = visible(f"this run's manifest or records are none of a {run.kind} run ({error!r})", 600)
    manifest = shown_manifest(run.manifest) if run.manifest else ""
    told = {"facts": [], **(shown or {}), "shown": shown is not None, "trouble": trouble, "manifest": manifest}
    return render("run", **told, **_of(run, page_title=run.name, counted=_counted(run)))


def _values(run: Run) -> dict[str, Any]:
    if run.kind == "spade":
        return spade_values(spade_results(run), run.name)
    if run.kind == "sesa":
        return sesa_values(sesa_results(run), run.name)
    if run.kind == "sesa eval":
        scores = run.kept("scores", lambda: evaluation_scores(run.path))
        return evaluation_values(run.results(), scores, run.name)
    if run.kind == "eval":
        return eval_table(run)
    found = run.kept("values", lambda: report_values(run.results(), run.name))
    found["counts"]["steps"] = sum(row.steps for row in run.records.rows)
    return found


def _counted(run: Run) -> list[tuple[str, str]]:
    records = run.records
    told = [("kind", run.kind), ("status", run.status), ("episodes", f"{len(records.rows):,}")]
    told.append(("records", f"{records.records:,}"))
    if records.damaged:
        told.append(("damaged records", f"{records.damaged:,}"))
    return told


def list_page(name: str, title: str, columns: list[str]) -> Callable[[Catalogue, Run, Query], str]:
    """A page that is one list, drawn by the script."""

    def page(catalogue: Catalogue, run: Run, query: Query) -> str:
        told = {"heading": title, "columns": columns, "source": f"/api/run/{run.id}/{name}"}
        return render("list", **_of(run, page_title=f"{title} - {run.name}", at=name, **told))

    return page


episodes_page = list_page(
    "episodes", "Episodes", ["task", "result", "type", "turn", "phase", "steps", "return", "note"]
)
skills_page = list_page("skills", "Skills", ["card", "status", "source", "born", "uses", "wins", "lift"])
refused_page = list_page("refused", "Refused attempts", ["code", "stage", "round", "slot", "skill", "what was wrong"])


def episode_page(catalogue: Catalogue, run: Run, number: str, query: Query) -> str:
    """One episode, some turns at a time.

    Raises:
        UnknownName: There is no such episode.
        StoreCorrupt: Its record is damaged.
    """
    rows = run.records.rows
    row = rows[place] if (place := _whole(number)) < len(rows) else None
    if row is None:
        raise UnknownName(f"the run has no episode {number}; it has {len(rows):,}")
    episode = run.records.episode(row)
    start = min(_whole(query.get("from", "0")) // TURNS * TURNS, max(0, (episode.steps - 1) // TURNS * TURNS))
    turns = []
    for at, turn in enumerate(episode.turns[start : start + TURNS], start):
        shown: dict[str, Any] = {"number": at, "reward": f"{turn.reward:+.2f}", "repair": turn.repair.value}
        shown["absence"] = visible(turn.absence or "", 80)
        texts = {"observation": turn.observation, "reply": turn.reply, "action": turn.action}
        shown |= {name: None if text is None else visible(text, TEXT) for name, text in texts.items()}
        ends = [name for name, on in (("terminated", turn.terminated), ("truncated", turn.truncated)) if on]
        turns.append(
            {**shown, "ends": ends, "admissible": [visible(one, 200) for one in (turn.admissible or ())[:100]]}
        )
    return render("episode", page_title=f"{visible(row.episode.task.id, 80)} - {run.name}", **_of(
        run,
        row=row,
        number=place,
        count=len(rows),
        task=visible(episode.task.id, 200),
        result=result(episode),
        facts=details.episode_facts(row, episode),
        turns=turns,
        start=start,
        steps=episode.steps,
        earlier=start - TURNS if start else None,
        later=start + TURNS if start + TURNS < episode.steps else None,
        last=visible(episode.last_observation, TEXT),
        info=shown_manifest(episode.info) if episode.info else "",
    ))  # fmt: skip


def prompts_page(catalogue: Catalogue, run: Run, query: Query) -> str:
    """The prompts of a run, each against the one before it.

    Raises:
        StoreCorrupt: A record is damaged.
    """
    lines = run.records.prompts[:]
    start = min(_whole(query.get("from", "0")) // STEPS * STEPS, max(0, (len(lines) - 1) // STEPS * STEPS))
    before: dict[tuple[str, int], int] = {}
    shown: list[dict[str, Any]] = []
    template = templates().get_template("prompt.html.j2")
    for line in lines[: start + STEPS]:
        place = (line.step.arm, line.step.seed)
        if line.number >= start:
            step = run.step(line)
            old = run.step(lines[before[place]]).prompt if place in before else None
            told = prompt_view(step, old, TEXT)
            html = Markup(template.render(told, open=True))
            shown.append({"arm": told["arm"], "seed": line.step.seed, "html": html})
        before[place] = line.number
    return render("prompts", page_title=f"Prompts - {run.name}", **_of(
        run, steps=shown, several=len(before) > 1, count=len(lines), start=start,
        earlier=start - STEPS if start else None, later=start + STEPS if start + STEPS < len(lines) else None,
    ))  # fmt: skip


def diff_page(catalogue: Catalogue, query: Query) -> str:
    """Two prompts, of one run or of two, line by line.

    Raises:
        UnknownName: A run or a prompt is not there.
    """
    sides = [_side(catalogue, query.get(name, "")) for name in ("a", "b")]
    lines = None
    if sides[0] is not None and sides[1] is not None:
        old, new = sides[0]["text"], sides[1]["text"]
        lines = as_lines(new, TEXT) if old == new else diff(old, new, TEXT)
    reading = catalogue.refresh(2.0)
    with_prompts = [run for run in catalogue.runs() if run.records.prompts]
    most = max(2, MAX_OFFERED // max(len(with_prompts), 1))
    offered = [(run.name, [(f"{run.id}:{line.number}", details.prompt_name(line)) for line in _spread(run, most)])
               for run in with_prompts[:MAX_OFFERED]]  # fmt: skip
    added, removed = (0, 0) if lines is None else (sum(line.op == op for line in lines) for op in "+-")
    same = lines is not None and sides[0]["text"] == sides[1]["text"]  # type: ignore[index]
    return render("diff", page_title="Compare prompts", a=sides[0], b=sides[1], lines=lines, offered=offered,
                  added=added, removed=removed, same=same, chosen=(query.get("a", ""), query.get("b", "")),
                  reading=reading)  # fmt: skip


def _spread(run: Run, most: int) -> list[PromptLine]:
    """At most so many prompts of a run, its first and its last among them."""
    lines = run.records.prompts[:]
    step = max(1, -(-len(lines) // most))
    return [*lines[:-1][::step], *lines[-1:]]


def _side(catalogue: Catalogue, told: str) -> dict[str, Any] | None:
    if not told:
        return None
    id_, _, number = told.partition(":")
    run = catalogue.run(id_)
    lines = run.records.prompts
    if (at := _whole(number)) >= len(lines):
        raise UnknownName(f"{run.name} has no prompt {at}; it has {len(lines)}")
    step = run.step(lines[at])
    return {"run": run, "name": f"{run.name}, {details.prompt_name(lines[at])}", "text": step.prompt}


def compare_page(catalogue: Catalogue, query: Query) -> str:
    """The curves of some runs.

    Raises:
        BadInput: No run or too many are named.
    """
    runs = _compared(catalogue, query)
    made, without = charts(runs)
    notes = list(without)
    versions = sorted({str(run.manifest.get("metagym")) for run in runs if not run.fault})
    if len(versions) > 1:
        notes.append(f"The runs were made by different versions of MetaGym: {', '.join(versions)}.")
    names = ",".join(run.id for run in runs)
    shown = [
        {
            "measure": chart.lines[0].measure,
            "over": chart.lines[0].over,
            "why": chart.why,
            "legend": [(number % 8, line.label) for number, line in enumerate(chart.lines)],
            "notes": [visible(note, 300) for line in chart.lines for note in line.notes],
            "src": f"/figure/compare/{number}.svg?{urlencode({'runs': names, 'v': _versions(runs)})}",
            "counts": _counts(chart.lines),
            "lines": chart.lines,
        }
        for number, chart in enumerate(made)
    ]
    return render(
        "compare", page_title="Curves side by side", runs=runs, charts=shown, notes=[visible(n, 600) for n in notes]
    )


def _counts(lines: Any) -> list[int]:
    found = sorted({count for line in lines for count, _ in line.points})
    step = max(1, -(-len(found) // 12))
    return sorted({*found[::step], *found[-1:]})


def _versions(runs: list[Run]) -> str:
    return "".join(run.version[:6] for run in runs)


def _compared(catalogue: Catalogue, query: Query) -> list[Run]:
    ids = list(dict.fromkeys(filter(None, query.get("runs", "").split(","))))
    if not ids or len(ids) > MAX_COMPARED:
        raise BadInput(f"choose 1 to {MAX_COMPARED} runs in the list of runs, got {len(ids)}")
    return [catalogue.run(id_, 2.0) for id_ in ids]


def compare_figure(catalogue: Catalogue, number: str, query: Query) -> str:
    """The figure of one chart of `compare_page`, as an SVG element.

    Raises:
        UnknownName: There is no such chart.
    """
    made, _ = charts(_compared(catalogue, query))
    if (at := _whole(number)) >= len(made):
        raise UnknownName(f"there is no figure {at}")
    return made[at].svg("compare")


def lineage_page(catalogue: Catalogue, run: Run, query: Query) -> str:
    """Which program was made from which, and the list of programs.

    Raises:
        MetaGymError: The run cannot be read.
    """
    found = spade_results(run)
    nodes, undrawn = tree_nodes(found.environments, {one.digest: one.digest for one in found.environments})
    columns = ["program", "skill", "round", "won without the hint", "with the hint", "regret", "reward", "parents"]
    return render("lineage", page_title=f"Lineage - {run.name}", **_of(
        run, nodes=nodes, undrawn=undrawn, columns=columns, source=f"/api/run/{run.id}/programs",
    ))  # fmt: skip


def program_page(catalogue: Catalogue, run: Run, digest: str, query: Query) -> str:
    """One program of a run of SPADE: source, figures, parents and children."""
    return render("program", **_of(run, **details.program(run, digest)))


def attempt_page(catalogue: Catalogue, run: Run, place: str, query: Query) -> str:
    """One refused attempt.

    Raises:
        UnknownName: There is none.
    """
    for design, number, attempt in attempts(run):
        if f"{design.round}-{design.slot}-{number}" == place:
            return render("attempt", **_of(run, **details.attempt(design, number, attempt)))
    raise UnknownName("the run has no such refused attempt")


def skill_page(catalogue: Catalogue, run: Run, id_: str, query: Query) -> str:
    """One card of a run of SESA: what it says, what became of it, where it was used."""
    return render("skill", **_of(run, **details.card(run, id_)))


def error_page(heading: str, text: str, run: Run | None = None) -> str:
    """A page that says what is wrong."""
    return render(
        "error", page_title=heading, heading=heading, text=visible(text, 600), **({} if run is None else _of(run))
    )


def _whole(text: str) -> int:
    """A number of an address.

    Raises:
        BadInput: It is none.
    """
    if not (text.isascii() and text.isdecimal() and len(text) <= 9):
        raise BadInput(f"{text!r:.40} is no number")
    return int(text)
