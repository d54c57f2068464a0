"""Labelled sets for measuring search: documents, queries, and which documents answer which query.

Two layouts are read. That of BEIR: `corpus.jsonl`, `queries.jsonl`, `qrels/test.tsv`. And those of the classic collections
(Cranfield, CISI, CACM, MED, NPL, TIME) as universities have published them: `NAME.all`, `NAME.qry`, `NAME.rel`. The sets belong to
others and are not part of the project: put them into a folder and name it.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CLASSIC = ("cran", "cisi", "cacm", "med", "npl", "time")
#: Words of a chunk: about what the local embedding model reads of a text.
CHUNK_WORDS = 180


@dataclass(frozen=True)
class Labelled:
    """A set: texts by document, queries, and the relevant documents of each query. Relevance is yes or no."""

    name: str
    documents: dict[str, str]
    queries: dict[str, str]
    relevant: dict[str, set[str]]

    def chunks(self) -> Iterator[tuple[str, str]]:
        """Documents in pieces of at most `CHUNK_WORDS` words, each with its document."""
        for document, text in self.documents.items():
            words = text.split()
            for start in range(0, max(len(words), 1), CHUNK_WORDS):
                yield document, " ".join(words[start : start + CHUNK_WORDS])


def read_set(folder: Path, name: str) -> Labelled:
    """The set of a name in a folder. Queries without relevant documents are left out."""
    if (folder / name / "corpus.jsonl").is_file():
        documents, queries, relevant = _read_beir(folder / name)
    else:
        reader = {"npl": _read_npl, "time": _read_time}.get(name, _read_smart)
        documents, queries, relevant = reader(folder, name)
    relevant = {query: {found for found in answers if found in documents} for query, answers in relevant.items() if query in queries}
    relevant = {query: answers for query, answers in relevant.items() if answers}
    return Labelled(name, documents, {query: queries[query] for query in relevant}, relevant)


_Parts = tuple[dict[str, str], dict[str, str], dict[str, set[str]]]


def _read_beir(folder: Path) -> _Parts:
    documents = {row["_id"]: f"{row.get('title', '')}. {row['text']}".lstrip(". ") for row in _json_lines(folder / "corpus.jsonl")}
    queries = {row["_id"]: row["text"] for row in _json_lines(folder / "queries.jsonl")}
    relevant: dict[str, set[str]] = {}
    for line in (folder / "qrels" / "test.tsv").read_text().splitlines()[1:]:
        query, document, grade = line.split("\t")
        if int(grade) > 0:
            relevant.setdefault(query, set()).add(document)
    return documents, queries, relevant


def _json_lines(path: Path) -> Iterator[dict[str, str]]:
    with path.open() as lines:
        yield from (json.loads(line) for line in lines)


def _read_smart(folder: Path, name: str) -> _Parts:
    """Records that begin with `.I number`, with sections of one letter: title, text, keywords."""
    documents = {number: _text(parts) for number, parts in _records(folder / f"{name}.all")}
    asked = [(number, " ".join(parts.get("W", "").split())) for number, parts in _records(folder / f"{name}.qry")]
    # The judgements of Cranfield name queries by their place in the file, the others by their number.
    queries = {str(place): text for place, (_, text) in enumerate(asked, 1)} if name == "cran" else dict(asked)
    relevant: dict[str, set[str]] = {}
    for line in (folder / f"{name}.rel").read_text().splitlines():
        fields = line.split()
        if len(fields) >= 2:
            relevant.setdefault(str(int(fields[0])), set()).add(str(int(fields[2] if name == "med" else fields[1])))
    return documents, queries, relevant


def _text(parts: dict[str, str]) -> str:
    title, text = (" ".join(parts.get(letter, "").split()) for letter in "TW")
    return text if not title or text.startswith(title) else f"{title.rstrip(' .')}. {text}"


def _records(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    for record in re.split(r"^\.I[ \t]+(?=\d)", path.read_text(errors="replace"), flags=re.M)[1:]:
        number, _, rest = record.partition("\n")
        sections = re.split(r"^\.([A-Z])\s*$", rest, flags=re.M)
        yield str(int(number)), dict(zip(sections[1::2], sections[2::2], strict=True))


def _read_npl(folder: Path, name: str) -> _Parts:
    def entries(path: Path) -> Iterator[tuple[str, str]]:
        for entry in re.split(r"^\s*/\s*$", path.read_text(), flags=re.M):
            number, _, text = entry.strip().partition("\n")
            if number.isdigit():
                yield number, " ".join(text.split())

    documents = dict(entries(folder / f"{name}.all"))
    # Queries are in capitals, which the embedding model does not distinguish.
    queries = {number: text.lower() for number, text in entries(folder / f"{name}.qry")}
    relevant = {number: set(text.split()) for number, text in entries(folder / f"{name}.rel")}
    return documents, queries, relevant


def _read_time(folder: Path, name: str) -> _Parts:
    """Articles that begin with `*TEXT`; judgements name them by their place in the file."""
    articles = re.split(r"^\*(?:TEXT[^\n]*|STOP)", (folder / f"{name}.all").read_text(errors="replace"), flags=re.M)
    documents = {str(place): " ".join(text.split()) for place, text in enumerate(articles[1:], 1) if text.strip()}
    asked = re.split(r"^\*(?:FIND|STOP)", (folder / f"{name}.qry").read_text(), flags=re.M)
    queries = {}
    for query in asked:
        number, _, text = query.strip().partition("\n")
        if number.strip().isdigit():
            queries[number.strip()] = " ".join(text.split()).lower()
    rows = (line.split() for line in (folder / f"{name}.rel").read_text().splitlines())
    return documents, queries, {row[0]: set(row[1:]) for row in rows if row}
