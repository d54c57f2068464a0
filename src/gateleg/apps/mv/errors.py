"""Errors of the music video application, each with a code, a message and a fix."""

from gateleg.errors import GatelegError


class MusicVideoError(GatelegError):
    """Base class of the errors of the music video application."""

    code = "mv"
    status = 422


class UnreadableSong(MusicVideoError):
    """The file has no audio that can be decoded."""

    fix = "Use a file with an audio track: MP3, M4A, WAV, FLAC, OGG or a video."


class SongTooLong(MusicVideoError):
    """The song is longer than the limit."""

    fix = "Shorten the song, or raise longest_song below [mv] in gateleg.toml."


class UnreadablePicture(MusicVideoError):
    """The picture of a character or product cannot be decoded."""

    fix = "Use a PNG, JPEG or WebP file of at most 40 megapixels."


class UnreadableLyrics(MusicVideoError):
    """The lyrics are neither LRC, SRT nor plain text."""

    fix = "Use LRC ([01:23.45] line), SRT, or plain text with one line per sung line."


class UnwritableText(MusicVideoError):
    """The title or the lyrics contain characters that no available font has."""

    fix = 'Add a font file with these characters in gateleg.toml ([mv] fonts = ["NotoSansCJK-Bold.ttc"]), or remove them from the text.'


class UnreadableClip(MusicVideoError):
    """The clip has no video that can be decoded."""

    fix = "Use a video file: MP4, MOV, WebM or MKV."


class UnknownPreset(MusicVideoError):
    """The director preset does not exist."""

    fix = "Choose one that `gateleg mv directors` lists."


class FileMissing(MusicVideoError):
    """An object that a project refers to does not exist."""

    status = 409
    fix = "Upload the file again, or clear the field that refers to it."


class Cancelled(MusicVideoError):
    """The caller cancelled the work."""

    status = 409
    fix = "Start it again to continue; finished clips are reused."


def file_missing(key: str) -> FileMissing:
    """The error for an object key under which nothing can be read."""
    return FileMissing(f"The file {key!r} does not exist.")


def reason_of(error: Exception) -> str:
    """Why a file could not be read, without its path on this machine."""
    return str(getattr(error, "strerror", None) or error)
