"""Music videos: make a video from a song and a sentence, cut to the beat and drawn on this machine, without an account.

    song = listen(Path("song.mp3"))                                  tempo, beats, bars, sections, key, loudness
    plan = plan_video(song, find_preset("neon-noir"))                scenes on bar lines, to the frame
    texts = write_scenes("a robot in the rain", plan, find_preset("neon-noir"), subject="a silver robot")
    make_video(Path("song.mp3"), "a robot in the rain", Path("out.mp4"), open_library(models.embeddings().embed))

All exported functions depend only on their arguments and the files they are given. Long ones take the callbacks `progress` and
`cancelled`. The packages, each using those before it: `listening`, `planning`, `writing`, `drawing`, `composing`. `studio` combines them,
and `music` synthesises a song.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gateleg.apps.mv.errors import (
    Cancelled,
    MusicVideoError,
    SongTooLong,
    UnknownPreset,
    UnreadableClip,
    UnreadableLyrics,
    UnreadablePicture,
    UnreadableSong,
)

if TYPE_CHECKING:
    from gateleg.apps.mv.composing.assembly import compose
    from gateleg.apps.mv.composing.clips import ClipOrder, render_clip, render_still
    from gateleg.apps.mv.composing.encoding import Canvas
    from gateleg.apps.mv.drawing.looks import open_library
    from gateleg.apps.mv.listening.song import Song, listen
    from gateleg.apps.mv.music import synthesise_song
    from gateleg.apps.mv.planning.plan import plan_video
    from gateleg.apps.mv.planning.presets import find_preset, preset_names
    from gateleg.apps.mv.studio import Video, VideoOptions, make_video, order_clips
    from gateleg.apps.mv.writing.scenes import write_scenes

__all__ = [
    "Cancelled",
    "Canvas",
    "ClipOrder",
    "MusicVideoError",
    "Song",
    "SongTooLong",
    "UnknownPreset",
    "UnreadableClip",
    "UnreadableLyrics",
    "UnreadablePicture",
    "UnreadableSong",
    "Video",
    "VideoOptions",
    "compose",
    "find_preset",
    "listen",
    "make_video",
    "open_library",
    "order_clips",
    "plan_video",
    "preset_names",
    "render_clip",
    "render_still",
    "synthesise_song",
    "write_scenes",
]

#: Submodules that are imported on first use, so that a host starts without loading ffmpeg or skia.
_LAZY = {
    "Canvas": "composing.encoding",
    "ClipOrder": "composing.clips",
    "Song": "listening.song",
    "Video": "studio",
    "VideoOptions": "studio",
    "compose": "composing.assembly",
    "find_preset": "planning.presets",
    "listen": "listening.song",
    "make_video": "studio",
    "open_library": "drawing.looks",
    "order_clips": "studio",
    "plan_video": "planning.plan",
    "preset_names": "planning.presets",
    "render_clip": "composing.clips",
    "render_still": "composing.clips",
    "synthesise_song": "music",
    "write_scenes": "writing.scenes",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
