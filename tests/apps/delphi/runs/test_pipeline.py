import pytest
from pydantic import ValidationError

from gateleg.apps.delphi.runs.pipeline import STAGES, PipelineConfig, needed_by

#: The config of the document, with what its stages have here.
DOCUMENT = {
    "stages": [
        {"stage": "PCA", "config": {"max_votes": 500000, "batch_size": 50000}},
        {"stage": "UMAP", "config": {"n_neighbors": 15, "min_dist": 0.1}},
        {"stage": "REPORT", "config": {"model": "claude-3-7-sonnet-20250219", "include_topics": True}},
    ],
    "visualizations": ["basic", "enhanced", "multilayer"],
}


def test_the_config_of_the_document_is_understood() -> None:
    config = PipelineConfig.model_validate(DOCUMENT)
    assert [stage.stage for stage in config.ordered([])] == ["PCA", "UMAP", "REPORT"]


def test_stages_are_put_in_order_and_all_installed_ones_are_the_default() -> None:
    assert [stage.stage for stage in PipelineConfig.model_validate({"stages": [{"stage": "REPORT"}, {"stage": "PCA"}]}).ordered([])] == [
        "PCA",
        "REPORT",
    ]
    assert [stage.stage for stage in PipelineConfig().ordered(["UMAP", "PCA"])] == ["PCA", "UMAP"]


@pytest.mark.parametrize(
    ("stages", "why"),
    [
        ([{"stage": "MAGIC"}], "there is no stage 'MAGIC'"),
        ([{"stage": "PCA"}, {"stage": "PCA"}], "twice"),
        ([{"stage": "PCA", "config": {"n_components": 99}}], "n_components"),
        ([{"stage": "UMAP", "config": {"min_dist": -1}}], "min_dist"),
        ([{"stage": "UMAP", "config": {"embedding_model": "nonsense"}}], "'nonsense' is not a model address"),
        ([{"stage": "UMAP", "config": {"naming_model": "minilm"}}], "'minilm' is not a model address"),
        ([{"stage": "REPORT", "config": {"model": "magic:"}}], "'magic:' is not a model address"),
    ],
)
def test_a_pipeline_that_cannot_be_is_refused(stages: list[dict[str, object]], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        PipelineConfig.model_validate({"stages": stages})


def test_a_report_waits_for_the_stages_that_are_there() -> None:
    assert needed_by("REPORT", ["PCA", "UMAP"]) == ["PCA", "UMAP"]
    assert needed_by("REPORT", ["PCA"]) == ["PCA"]
    assert needed_by("UMAP", ["PCA"]) == []


def test_the_report_has_the_maps_that_the_pipeline_wants() -> None:
    stages = {stage.stage: stage.config for stage in PipelineConfig(visualizations=["basic"]).ordered(list(STAGES))}
    assert stages["REPORT"] == {"visualizations": ["basic"]}
    assert stages["PCA"] == {}
    with pytest.raises(ValidationError):
        PipelineConfig.model_validate({"visualizations": ["moving"]})


def test_comments_that_the_votes_stage_excludes_have_no_topics() -> None:
    config = PipelineConfig.model_validate({"stages": [{"stage": "PCA", "config": {"excluded_comments": [3]}}, {"stage": "UMAP"}]})
    assert [stage.config for stage in config.ordered(list(STAGES))] == [{"excluded_comments": [3]}, {"excluded_comments": [3]}]
