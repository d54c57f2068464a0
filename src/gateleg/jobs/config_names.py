"""The names of a config that its model would ignore: they are more likely misspelt, or of another job, than meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import BaseModel

__all__ = ["ignored_names", "known_names"]


def known_names(model: type[BaseModel]) -> frozenset[str] | None:
    """The names that a model accepts in its input; None if they cannot be listed, or if the model accepts or refuses others itself."""
    if model.model_config.get("extra") in ("allow", "forbid"):
        return None
    if any(validator.info.mode != "after" for validator in model.__pydantic_decorators__.model_validators.values()):
        return None
    known = {*model.model_fields}
    for field in model.model_fields.values():
        alias = field.validation_alias if field.validation_alias is not None else field.alias
        if alias is not None and not isinstance(alias, str):
            return None
        known |= {alias} if alias else set()
    return frozenset(known)


def ignored_names(model: type[BaseModel], given: Iterable[str]) -> list[str]:
    """The given names that the model would ignore."""
    known = known_names(model)
    return [] if known is None else [name for name in given if name not in known]
