"""The HTML report of a run: one file that opens offline, needs no script and stays below 5 MB."""

from metagym.runs.report.page import MAX_BYTES, render_report, write_report

__all__ = ["MAX_BYTES", "render_report", "write_report"]
