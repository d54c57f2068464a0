"""What can go wrong in the making of a music video: one class for each kind of failure, with a code, what happened and what to do."""

from gateleg.errors import GatelegError


class MusicVideoError(GatelegError):
    """Something that the music video application refuses, or could not do."""

    code = "mv"
    status = 422


class UnreadableSong(MusicVideoError):
    """A file without sound that can be decoded."""

    code = "unreadable-song"
    fix = "Send a file with an audio track: MP3, M4A, WAV, FLAC, OGG or a video."


class SongTooLong(MusicVideoError):
    """A song that is longer than the studio accepts."""

    code = "song-too-long"
    fix = "Cut the song, or raise the limit."


class UnreadablePicture(MusicVideoError):
    """A picture of a character or a product that cannot be decoded."""

    code = "unreadable-picture"
    fix = "Send a PNG, JPEG or WebP of at most 40 megapixels."


class UnreadableLyrics(MusicVideoError):
    """Lyrics that are neither LRC, SRT nor plain text."""

    code = "unreadable-lyrics"
    fix = "Send LRC ([01:23.45] line), SRT, or one line of text for each line that is sung."


class UnwritableText(MusicVideoError):
    """A title or lyrics with characters that no font at hand has."""

    code = "unwritable-text"
    fix = 'Name a font file that has them in gateleg.toml ([mv] fonts = ["NotoSansCJK-Bold.ttc"]), or leave them out of the text.'


class UnreadableClip(MusicVideoError):
    """A clip without pictures that can be decoded."""

    code = "unreadable-clip"
    fix = "Send a video file: MP4, MOV, WebM or MKV."


class UnknownPreset(MusicVideoError):
    """A director preset that does not exist."""

    code = "unknown-preset"
    fix = "Choose one of `preset_names()`."


class Cancelled(MusicVideoError):
    """The caller asked the studio to stop."""

    code = "cancelled"
    status = 409
    fix = "Start it again when you want the rest; clips that are finished can be used again."


def reason_of(error: Exception) -> str:
    """Why a file could not be read, without the folder in which it lies on this machine."""
    return str(getattr(error, "strerror", None) or error)
