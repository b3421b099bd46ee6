"""What a run leaves behind: its folder, the figures read from it, comparisons, and the HTML report."""

from metagym.runs.folder import RunFolder, base_manifest

__all__ = ["RunFolder", "base_manifest"]
