"""The tables of golden sets, their questions with the relevant documents, and evaluation runs."""

from datetime import datetime
from typing import Any, Literal
from uuid import uuid4

from gateleg.model import Attr, Entity, Key, Pattern, Record, Table, field, required, stamp

evaluations_table = Table("LisaRagEvaluationTable", hash="pk", range="sk")
EVALUATION_TABLES = (evaluations_table,)
MOST_QUESTIONS = 1_000
#: Maximum questions stored with a run: those on which its configurations differ most.
MOST_KEPT = 50


class GoldenSet(Entity, table=evaluations_table, case="camel"):
    """Questions about a collection, with the documents that answer them."""

    set_id: Attr[str] = field(factory=lambda: str(uuid4()), read_only=True)
    repository_id: Attr[str] = required(read_only=True)
    collection_id: Attr[str] = required(read_only=True)
    name: Attr[str] = required(min_length=1, max_length=100)
    #: written by a person, or generated from the documents
    origin: Attr[Literal["written", "made"]] = field("written")
    questions: Attr[int] = field(0, ge=0)
    created_by: Attr[str]
    created_at: Attr[datetime] = stamp(on="create")

    key = Key("{repository_id}#{collection_id}", "SET#{set_id}")
    of_collection = Pattern(title="The golden sets of a collection")


class GoldenQuestion(Entity, table=evaluations_table, case="camel"):
    """A question of a golden set."""

    repository_id: Attr[str]
    collection_id: Attr[str]
    set_id: Attr[str]
    number: Attr[int] = required(ge=1, le=99_999)
    question: Attr[str] = required(min_length=1, max_length=4_000)
    #: ids of the documents that answer it; empty for a question that should be refused
    documents: Attr[list[str]] = field(factory=list, max_length=1_000)
    #: the expected answer
    answer: Attr[str | None] = field(None, max_length=4_000)

    key = Key("{repository_id}#{collection_id}#{set_id}", "QUESTION#{number:05d}")
    of_set = Pattern(title="The questions of a golden set, in order")


class ConfigurationResult(Record, case="camel"):
    """A configuration with its mean metrics."""

    name: Attr[str]
    #: the fields of a search request, without its query
    request: Attr[dict[str, Any]] = field(factory=dict)
    recall: Attr[float]
    precision: Attr[float]
    mrr: Attr[float]
    ndcg: Attr[float]
    hit_rate: Attr[float]
    milliseconds: Attr[float]
    #: shares of the questions with relevant documents: answered, answered correctly, answered citing a relevant document
    answered: Attr[float | None] = field(None)
    correct: Attr[float | None] = field(None)
    cited: Attr[float | None] = field(None)
    #: the share of questions without relevant documents that were refused
    refused: Attr[float | None] = field(None)


class EvaluationRun(Entity, table=evaluations_table, case="camel"):
    """A run of a golden set with one or more configurations."""

    #: begins with the time, so that runs sort by time
    run_id: Attr[str]
    repository_id: Attr[str]
    collection_id: Attr[str]
    set_id: Attr[str]
    set_name: Attr[str]
    questions: Attr[int]
    #: the number of top documents that the metrics consider
    k: Attr[int]
    results: Attr[list[ConfigurationResult]] = field(factory=list)
    #: each further configuration compared with the first: better, equal, worse, difference, chance
    comparisons: Attr[list[dict[str, float]]] = field(factory=list)
    #: the questions on which the configurations differ most, then those with the worst results
    details: Attr[list[dict[str, Any]]] = field(factory=list, max_length=MOST_KEPT)
    created_by: Attr[str]
    created_at: Attr[datetime] = stamp(on="create")

    key = Key("{repository_id}#{collection_id}", "RUN#{run_id}")
    of_collection = Pattern(title="The evaluation runs of a collection, newest first", order="desc")
