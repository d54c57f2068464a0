"""What can go wrong with a conversation: one class for each kind of failure, with a code, what happened and what to do."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from gateleg.errors import GatelegError

if TYPE_CHECKING:
    from collections.abc import Sequence


class DelphiError(GatelegError):
    """Something that Delphi refuses or cannot find."""

    code = "delphi"
    status = 422


class MissingColumns(DelphiError):
    """A file lacks columns that the analysis cannot do without."""

    code = "missing-columns"
    fix = "Export the file again with its header line, or rename the columns."


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a file: the line where its row begins, and why the row cannot be read."""

    file: str
    line: int
    why: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.why}"


class UnreadableRows(DelphiError):
    """Rows of a file that cannot be read. `problems` names the first of them by line; `count` is how many there are in all."""

    code = "unreadable-rows"
    fix = "Correct these lines; nothing was loaded."

    def __init__(self, problems: Sequence[Problem], count: int) -> None:
        self.problems = tuple(problems)
        self.count = count
        shown = "; ".join(map(str, self.problems[:5]))
        more = f"; and {count - 5:,} more" if count > 5 else ""
        super().__init__(f"{count:,} {'row' if count == 1 else 'rows'} cannot be read: {shown}{more}.")
        self.details = {"count": count, "problems": [asdict(problem) for problem in self.problems]}


class UnreadableFile(DelphiError):
    """A file that is not CSV in UTF-8."""

    code = "unreadable-file"
    fix = "Save it as CSV in UTF-8; nothing was loaded."


class UploadTooLarge(DelphiError):
    """Files that hold, or take, more than the host allows for one upload."""

    code = "upload-too-large"
    status = 413
    fix = "Send less at once; nothing was loaded."


class InvertedVotes(DelphiError):
    """Votes whose sign is the other way round than the export itself says."""

    code = "inverted-votes"
    fix = "Turn the signs of the column vote round; nothing was loaded."


class ConversationMissing(DelphiError):
    """There is no such conversation, or nothing was uploaded to it."""

    code = "conversation-missing"
    status = 404
    fix = "Upload its votes and comments first."


class RunMissing(DelphiError):
    """There are no results of this job, or of any job of this conversation."""

    code = "run-missing"
    status = 404
    fix = "Submit a job for the conversation, and wait until it is completed."


class UploadRaced(DelphiError):
    """Somebody else uploaded to the conversation at the same time."""

    code = "upload-raced"
    status = 409
    fix = "Look at what they uploaded, and upload again if yours is to replace it."


class BadName(DelphiError):
    """A name that a topic cannot have."""

    code = "bad-topic-name"
    fix = "Give a name of 2 to 60 characters in one line, which no other topic of the run has."


class BrowserMissing(DelphiError):
    """There is no Chromium to print with."""

    code = "browser-missing"
    fix = "Install Chromium, or print the report from any browser: its pages are made for paper as well."


class PrintingFailed(DelphiError):
    """Chromium could not make the file."""

    code = "printing-failed"
    fix = "Print the report from any browser: its pages are made for paper as well."
