"""The full pipeline: its stages, their order and configs. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from gateleg.apps.delphi.opinions.config import VotesConfig
from gateleg.apps.delphi.reports.config import ReportConfig, Visualization
from gateleg.apps.delphi.runs.origin import REPORT_STAGE, TOPICS_STAGE, VOTES_STAGE
from gateleg.apps.delphi.topics.config import TopicsConfig

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PIPELINE = "FULL_PIPELINE"
#: Every stage with the stages that must be completed before it.
STAGES: dict[str, tuple[str, ...]] = {VOTES_STAGE: (), TOPICS_STAGE: (), REPORT_STAGE: (VOTES_STAGE, TOPICS_STAGE)}
#: The models that validate the configs of stages when a pipeline is submitted.
_CONFIGS: dict[str, type[BaseModel]] = {VOTES_STAGE: VotesConfig, TOPICS_STAGE: TopicsConfig, REPORT_STAGE: ReportConfig}


class StageConfig(BaseModel):
    """One stage of a pipeline."""

    model_config = ConfigDict(extra="forbid")

    stage: str
    config: dict[str, Any] = Field(default_factory=dict)


class PipelineConfig(BaseModel):
    """The config of a FULL_PIPELINE job. By default a pipeline has all installed stages."""

    model_config = ConfigDict(extra="forbid")

    stages: list[StageConfig] = Field(default_factory=list)
    #: the maps of the report; all if empty
    visualizations: list[Visualization] = Field(default_factory=list)

    @field_validator("stages")
    @classmethod
    def _known_once(cls, stages: list[StageConfig]) -> list[StageConfig]:
        names = [stage.stage for stage in stages]
        unknown = [name for name in names if name not in STAGES]
        if unknown:
            raise ValueError(f"there is no stage {unknown[0]!r}; use {', '.join(STAGES)}")
        if len(set(names)) < len(names):
            raise ValueError("a stage is listed twice")
        for stage in stages:
            if stage.stage in _CONFIGS:
                _CONFIGS[stage.stage].model_validate(stage.config)
        return stages

    def ordered(self, installed: Sequence[str]) -> list[StageConfig]:
        """The stages in an order in which each follows the stages that it depends on."""
        chosen = {stage.stage: stage for stage in self.stages} or {name: StageConfig(stage=name) for name in installed}
        return [self._with_inherited(chosen[name], chosen) for name in STAGES if name in chosen]

    def _with_inherited(self, stage: StageConfig, chosen: Mapping[str, StageConfig]) -> StageConfig:
        """The stage with inherited settings: the comments that the votes stage excludes, and the maps of the report."""
        inherited: dict[str, Any] = {}
        if stage.stage == TOPICS_STAGE and VOTES_STAGE in chosen and (excluded := chosen[VOTES_STAGE].config.get("excluded_comments")):
            inherited["excluded_comments"] = excluded
        if stage.stage == REPORT_STAGE and self.visualizations:
            inherited["visualizations"] = list(self.visualizations)
        return StageConfig(stage=stage.stage, config=inherited | stage.config) if inherited else stage


def config_of(stage: StageConfig) -> BaseModel:
    """The config of a stage of a valid pipeline."""
    return _CONFIGS[stage.stage].model_validate(stage.config)


def models_of(job_type: str, config: Mapping[str, Any]) -> list[str]:
    """The addresses of the models that a job would send comments to; empty for an invalid config."""
    try:
        if job_type == PIPELINE:
            return [address for stage in PipelineConfig.model_validate(config).stages for address in models_of(stage.stage, stage.config)]
        return list(getattr(_CONFIGS[job_type].model_validate(config), "models", ()))
    except ValidationError:
        return []


def needed_by(stage: str, chosen: Sequence[str]) -> list[str]:
    """The stages of a pipeline that a stage must wait for."""
    return [name for name in STAGES[stage] if name in chosen]
