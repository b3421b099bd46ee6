"""``metagym serve-search``: our index behind the protocol that Search-R1 and verl speak."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def serve_search(
    corpus: Annotated[Path, typer.Argument(help='Passages: JSON lines {"id", "contents": "\\"Title\\"\\ntext"}.')],
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.")] = 8000,
    host: Annotated[str, typer.Option(help="Address to listen on. The protocol knows no password.")] = "127.0.0.1",
    engine: Annotated[str, typer.Option(help="bm25, fts5 or tantivy.")] = "bm25",
    index: Annotated[str | None, typer.Option(help="Folder that keeps the index between runs.")] = None,
    topk: Annotated[int, typer.Option(help="Passages for requests that ask for no number.")] = 3,
) -> None:
    """Serves a corpus by the Search-R1 retrieval protocol until it is interrupted."""
    from metagym.search import read_corpus, searcher_of
    from metagym.search.server import SearchServer

    read = read_corpus(corpus)
    searcher = searcher_of(engine, read, index)
    server = SearchServer(searcher, host=host, port=port, topk=topk)
    typer.echo(f"{len(read.passages):,} passages, {searcher.name}, corpus {searcher.digest[:12]}")
    typer.echo(f"serving {server.url} (Ctrl-C ends it)")
    try:
        server.serve_forever()
    finally:
        searcher.close()
