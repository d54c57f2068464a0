import json

import numpy as np
import pytest

from gateleg.apps.delphi.conversations.synthetic import SyntheticPlan, synthesise
from gateleg.apps.delphi.conversations.votes import Votes
from gateleg.apps.delphi.opinions.blobs import blob_of
from gateleg.apps.delphi.opinions.config import VotesConfig
from gateleg.apps.delphi.opinions.stage import analyse
from tests.apps.delphi.opinions.test_parity import EXACT, in_order_of, reference_of, rows_of_groups


def test_the_document_has_the_sign_of_the_reference() -> None:
    conversation = synthesise(SyntheticPlan(participants=80, comments=20)).conversation
    opinions = analyse(conversation.votes, conversation.comments, EXACT)
    blob = blob_of(opinions)
    reference = reference_of(opinions)
    assert blob["pca"]["center"] == pytest.approx(reference.center)
    for number, comp in enumerate(blob["pca"]["comps"]):
        # Which way a component points is open: it must be the same everywhere.
        sign = np.sign(np.dot(comp, reference.comps[number]))
        assert sign * np.array(comp) == pytest.approx(np.array(reference.comps[number]), abs=1e-7)
        assert sign * opinions.positions[in_order_of(reference, opinions), number] == pytest.approx(
            [row[number] for row in reference.projection], abs=1e-6
        )
        ours = sign * np.array(blob["pca"]["comment-projection"][number])
        assert ours == pytest.approx([row[number] for row in reference.comment_projection], abs=1e-6)
    assert list(blob["repness"].values()) == [
        [
            {name: pytest.approx(value, rel=1e-6) if isinstance(value, float) else value for name, value in record.items()}
            for record in group
        ]
        for group in reference.repness(rows_of_groups(opinions, reference))
    ]


def test_the_document_is_json_and_its_counts_agree() -> None:
    conversation = synthesise(SyntheticPlan(participants=130, comments=20)).conversation
    blob = json.loads(json.dumps(blob_of(analyse(conversation.votes, conversation.comments))))
    assert sum(blob["base-clusters"]["count"]) == len(blob["in-conv"]) == sum(len(some) for some in blob["base-clusters"]["members"])
    places = {number: place for place, number in enumerate(blob["base-clusters"]["id"])}
    for group in blob["group-clusters"]:
        votes = blob["group-votes"][str(group["id"])]
        assert votes["n-members"] == sum(blob["base-clusters"]["count"][places[number]] for number in group["members"])
        for tid, counted in votes["votes"].items():
            for kind in ("A", "D", "S"):
                assert counted[kind] == sum(blob["votes-base"][tid][kind][places[number]] for number in group["members"])
        below = [number for sub in blob["subgroup-clusters"][str(group["id"])] for number in sub["members"]]
        assert sorted(below) == sorted(group["members"])


def test_nothing_and_one_component_make_a_document_too() -> None:
    assert blob_of(analyse(Votes.of([]), []))["tids"] == []
    conversation = synthesise(SyntheticPlan(participants=20, comments=9)).conversation
    assert set(blob_of(analyse(conversation.votes, [], VotesConfig(n_components=1)))["base-clusters"]["y"]) == {0.0}
