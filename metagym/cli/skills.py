"""``metagym skills``: look at a skill bank, fill it, move cards in and out, repair it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from metagym.cli.options import typed_text
from metagym.errors import BadInput

if TYPE_CHECKING:
    from metagym.sesa.skills import SkillBank
    from metagym.sesa.state import BankEntry

app = typer.Typer(help="The skill bank of SESA, which only the solver reads.", no_args_is_help=True)

Bank = Annotated[Path, typer.Argument(help="The bank's folder.", show_default=False)]
Embedder = Annotated[
    str | None, typer.Option(help="hash, wordllama or minilm; the bank's own by default, hash for a new bank.")
]
Dedup = Annotated[float | None, typer.Option(help="Cosine from which cards are near copies; 0.85 for a new bank.")]


def _reading(path: Path) -> SkillBank:
    from metagym.sesa.skills import SkillBank

    return SkillBank.open(path, read_only=True)


def _writing(path: Path, embedder: str | None, dedup: float | None) -> SkillBank:
    from metagym.sesa.skills import SkillBank

    return SkillBank.open(path, embedder=embedder, dedup=dedup)


@app.command("list")
def list_cards(
    bank: Bank,
    status: Annotated[str, typer.Option(help="active, retired, evicted, superseded, merged or all.")] = "active",
    query: Annotated[str | None, typer.Option(help="The cards nearest to this text, with their cosine.")] = None,
    k: Annotated[int, typer.Option("-k", help="How many, with --query.")] = 10,
) -> None:
    """Lists cards, one line each."""
    from metagym.sesa.state import STATUSES

    if status not in (*STATUSES, "all"):
        raise BadInput(f"--status is one of {', '.join(STATUSES)} or all, got {status!r}")
    with _reading(bank) as opened:
        if query is not None:
            for found in opened.search(typed_text(query), k):
                typer.echo(f"{found.score:6.3f}  {_line(opened.entry(found.card.id))}")
            return
        for entry in opened.entries(None if status == "all" else status):
            typer.echo(_line(entry))


def _line(entry: BankEntry) -> str:
    card = entry.card
    counts = f"{entry.wins}/{entry.uses}"
    return f"{card.id}  {entry.status:<10} {card.source:<9} {counts:>7}  {card.public_description[:100]}"


@app.command()
def show(bank: Bank, id_: Annotated[str, typer.Argument(metavar="ID", help="The card; its first digits do.")]) -> None:
    """Prints a card as its file."""
    from metagym.sesa.views import card_text

    with _reading(bank) as opened:
        typer.echo(card_text(opened.entry(_full(opened, id_))), nl=False)


def _full(bank: SkillBank, start: str) -> str:
    found = [entry.card.id for entry in bank.entries() if start and entry.card.id.startswith(start)]
    if len(found) > 1:
        raise BadInput(f"{len(found)} cards begin with {start!r}: {', '.join(found[:5])}")
    return found[0] if found else start


@app.command()
def add(
    bank: Bank,
    description: Annotated[str, typer.Option("--do", help="What to do.")],
    trigger: Annotated[str, typer.Option("--when", help="When to do it.")] = "",
    anti_pattern: Annotated[str, typer.Option("--avoid", help="What not to do.")] = "",
    query_template: Annotated[str, typer.Option("--query", help="A search to start from, with {slots}.")] = "",
    embedder: Embedder = None,
    dedup: Dedup = None,
) -> None:
    """Adds a hand-written card."""
    from metagym.sesa.cards import SkillCard

    card = SkillCard(typed_text(description), typed_text(trigger), typed_text(anti_pattern), typed_text(query_template))
    with _writing(bank, embedder, dedup) as opened:
        typer.echo(_outcome(opened.add(card)))


def _outcome(outcome: object) -> str:
    from metagym.sesa.dedup import Added, Duplicate, Refused

    if isinstance(outcome, Added):
        gone = f", takes the place of {', '.join(outcome.superseded)}" if outcome.superseded else ""
        return f"{outcome.id} added{gone}"
    if isinstance(outcome, Duplicate):
        return f"{outcome.id} is known already as {outcome.of} (cosine {outcome.cosine:.3f})"
    assert isinstance(outcome, Refused)
    return outcome.why


@app.command("import")
def import_cards(
    bank: Bank,
    source_path: Annotated[Path, typer.Argument(metavar="FROM", help="SKILL.md folder, SkillRL .json, or .jsonl.")],
    source: Annotated[str | None, typer.Option(help="hand or bootstrap, for cards that do not tell.")] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="Take the good cards and list the others.")] = False,
    embedder: Embedder = None,
    dedup: Dedup = None,
) -> None:
    """Takes cards in; edited files of the bank's own cards become new cards that replace the old ones."""
    from metagym.sesa.importers import read_cards
    from metagym.sesa.intake import take_in

    report = read_cards(source_path, source)
    for remark in report.remarks:
        typer.echo(f"note: {remark}", err=True)
    if not skip_bad:
        report.all_or_nothing()
    with _writing(bank, embedder, dedup) as opened:
        done = take_in(opened, report)
    for refusal in report.refused:
        typer.echo(f"refused: {refusal}", err=True)
    typer.echo(f"added {done.added}, replaced {done.replaced}, known already {done.known}, refused {done.refused}")


@app.command("export")
def export_cards(
    bank: Bank,
    to: Annotated[Path, typer.Argument(help="A new folder (skill-md) or file.")],
    kind: Annotated[str, typer.Option("--format", help="skill-md, skillrl or jsonl.")] = "skill-md",
) -> None:
    """Writes the active cards for other programs."""
    from metagym.sesa.importers import write_cards

    with _reading(bank) as opened:
        count = write_cards((entry.card for entry in opened.entries("active")), to, kind)
    typer.echo(f"{count} cards: {to}")


@app.command()
def prime(
    bank: Bank,
    hand: Annotated[Path | None, typer.Option(help="Hand-written cards: folder, .jsonl or .json.")] = None,
    mined: Annotated[Path | None, typer.Option(help="Mined cards: folder, .jsonl or .json.")] = None,
    embedder: Embedder = None,
    dedup: Dedup = None,
) -> None:
    """Fills a bank before a run; a second time changes nothing."""
    from metagym.sesa.priming import prime as fill

    with _writing(bank, embedder, dedup) as opened:
        done = fill(opened, hand or (), mined or ())
    typer.echo(f"added {len(done.hand)} hand-written and {len(done.mined)} mined; known already {done.duplicates}")


@app.command()
def repair(bank: Bank, copy: Annotated[Path, typer.Argument(help="A new folder for the copy.")]) -> None:
    """Writes what is intact of a damaged bank into a copy and lists what is not in it."""
    from metagym.sesa.repair import repair as mend

    done = mend(bank, copy)
    for sentence in done.dropped:
        typer.echo(f"dropped: {sentence}")
    typer.echo(f"kept {done.kept} events, dropped {len(done.dropped)}: {copy}")


@app.command()
def stats(bank: Bank) -> None:
    """Prints how many cards there are, where they come from, and how they did."""
    from metagym.sesa.intake import census

    with _reading(bank) as opened:
        for name, value in census(opened).items():
            typer.echo(f"{name:<22} {value}")
