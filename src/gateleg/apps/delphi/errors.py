"""The errors of Delphi. Each has a code, a message that says what happened, and a fix."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from gateleg.errors import GatelegError

if TYPE_CHECKING:
    from collections.abc import Sequence


class DelphiError(GatelegError):
    """Base of Delphi's errors."""

    status = 422


class MissingColumns(DelphiError):
    """A file lacks required columns."""

    fix = "Export the file again with its header line, or rename the columns."


@dataclass(frozen=True, slots=True)
class Problem:
    """A row of a file that cannot be read: the line on which it begins, and why."""

    file: str
    line: int
    why: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.why}"


class UnreadableRows(DelphiError):
    """Rows of a file cannot be read. `problems` lists the first of them; `count` is the number of all."""

    fix = "Correct these lines; nothing was loaded."

    def __init__(self, problems: Sequence[Problem], count: int) -> None:
        self.problems = tuple(problems)
        self.count = count
        shown = "; ".join(map(str, self.problems[:5]))
        more = f"; and {count - 5:,} more" if count > 5 else ""
        super().__init__(f"{count:,} {'row' if count == 1 else 'rows'} cannot be read: {shown}{more}.")
        self.details = {"count": count, "problems": [asdict(problem) for problem in self.problems]}


class UnreadableFile(DelphiError):
    """A file is not CSV in UTF-8."""

    fix = "Save it as CSV in UTF-8; nothing was loaded."


class UploadTooLarge(DelphiError):
    """Files exceed a limit of the host, or take more memory or time to read than it allows."""

    status = 413
    fix = "Upload smaller files; nothing was loaded."


class InvertedVotes(DelphiError):
    """Votes have the opposite sign to the one that the export declares."""

    fix = "Invert the signs in the column vote; nothing was loaded."


class CommentMissing(DelphiError):
    """The conversation has no such comment."""

    status = 404
    fix = "List comments with GET /api/delphi/conversations/{conversation}/comments."


class ConversationMissing(DelphiError):
    """The conversation does not exist, or nothing was uploaded to it."""

    status = 404
    fix = "Upload its votes and comments first."


class ConversationBusy(DelphiError):
    """A job on the conversation is waiting or running."""

    status = 409
    fix = "Cancel the job or wait until it is finished."


class RunMissing(DelphiError):
    """This job has no results, or no job of this conversation has any."""

    status = 404
    fix = "Submit a job for the conversation, and wait until it is completed."


class UploadRaced(DelphiError):
    """Another caller uploaded to the conversation at the same time."""

    status = 409
    fix = "Check the other upload, and upload again if yours should replace it."


class BadTopicName(DelphiError):
    """A topic cannot have this name."""

    fix = "Give a name of 2 to 60 characters on one line that no other topic of the run has."


class BrowserMissing(DelphiError):
    """Chromium, which prints PDF and PNG files, was not found."""

    fix = "Install Chromium, or print the report from any browser: its pages have a print layout."


class PrintingFailed(DelphiError):
    """Chromium could not print the file."""

    fix = "Print the report from any browser: its pages have a print layout."
