"""Packages of strangers on the path: what pip would leave of them."""

from pathlib import Path

APPLICATION = """
from gateleg.host import Application

application = Application(name="{name}", title="{name}", icon="star", {more})
"""


def install(folder: Path, package: str, *, entries: dict[str, str], modules: dict[str, str]) -> None:
    """Write a package's modules and its metadata with entry points for applications into a folder that is on the path."""
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text)
    metadata = folder / f"{package}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
    lines = "".join(f"{name} = {value}\n" for name, value in entries.items())
    (metadata / "entry_points.txt").write_text(f"[gateleg.applications]\n{lines}")
