"""`gateleg mv`: make music videos on the command line, without a server."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gateleg.commands import JsonOption, Steps, explaining_bad_settings, fail, print_json, require_packages, settings_from

if TYPE_CHECKING:
    from gateleg.apps.mv.callbacks import Progress
    from gateleg.apps.mv.drawing.looks import Library
    from gateleg.apps.mv.listening.song import Song
    from gateleg.apps.mv.studio import VideoOptions

app = typer.Typer(help="Music videos from a song and a sentence.", no_args_is_help=True, add_completion=False)

_STEPS = {
    "listening": "Analysing the song",
    "choosing": "Choosing what to draw",
    "drawing": "Drawing the scenes",
    "composing": "Composing the film",
}
#: The overall progress when each step ends.
_SHARES = (("listening", 0.05), ("choosing", 0.08), ("drawing", 0.93), ("composing", 1.0))
#: The shorter side of a draft and of a full film, in pixels.
_DRAFT, _FILM = 480, 720
#: Seconds of the synthesised song.
_DEMO = 60.0

Words = Annotated[
    list[str],
    typer.Argument(
        metavar="[SONG] CONCEPT",
        help="An audio or video file, and a sentence that says what the video is about. With --demo-song, only the sentence.",
    ),
]
Aspect = Annotated[Literal["16:9", "9:16", "1:1"], typer.Option(help="The aspect ratio of the video.")]
Director = Annotated[str, typer.Option(help="The director preset; `gateleg mv directors` lists them.")]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same frames, another seed another video.")]
Character = Annotated[str | None, typer.Option(help="A description of the main character or object.")]
Picture = Annotated[Path | None, typer.Option(help="A picture of the main character or object: PNG, JPEG or WebP.")]
Product = Annotated[str | None, typer.Option(help="A description of a product, which every scene shows.")]
ProductPicture = Annotated[Path | None, typer.Option(help="A picture of the product: PNG, JPEG or WebP.")]
Lyrics = Annotated[Path | None, typer.Option(help="A lyrics file: LRC, SRT, or plain text with one line per sung line.")]
Title = Annotated[str, typer.Option(help="Shown in the first seconds.")]
Artist = Annotated[str, typer.Option(help="Shown below the title.")]
Draft = Annotated[bool, typer.Option("--draft", help=f"{_DRAFT} lines instead of {_FILM}, in about half the time.")]
DemoSong = Annotated[bool, typer.Option("--demo-song", help="Use a synthesised song instead of a file.")]
DemoSeconds = Annotated[float, typer.Option(min=4, max=600, help="The length of the synthesised song, in seconds.")]


@app.command()
def new(
    words: Words,
    out: Annotated[Path, typer.Option("--out", "-o", help="The MP4 file to write.")] = Path("video.mp4"),
    character: Character = None,
    picture: Picture = None,
    product: Product = None,
    product_picture: ProductPicture = None,
    director: Director = "clean",
    seed: Seed = 0,
    draft: Draft = False,
    aspect: Aspect = "16:9",
    lyrics: Lyrics = None,
    title: Title = "",
    artist: Artist = "",
    demo_song: DemoSong = False,
    demo_seconds: DemoSeconds = _DEMO,
    workers: Annotated[int | None, typer.Option(min=1, help="The number of rendering processes; by default one for each core.")] = None,
) -> None:
    """Make a music video, cut to the beat and drawn on this machine. Nothing is sent to other machines."""
    _require_extra()
    _check_out(out, (".mp4", ".m4v"))
    from gateleg.apps.mv.studio import make_video

    with _exit_on_error(), _open_track(words, demo_song, demo_seconds, seed) as (song, concept), Steps(_STEPS) as report:
        options = _video_options(draft, aspect, director, seed, character, picture, lyrics, title, artist, product, product_picture)
        report("listening", 0.0)
        made = make_video(song, concept, out, _library(), options, workers, _report_steps(report))
    typer.echo(f"{out}: {made.seconds:.1f} s, {len(made.plan.slots)} scenes, {_tempo(made.song)}")
    if not made.flashes.safe:
        typer.echo("gateleg: warning: parts of the film flash more than three times a second, which can cause seizures.", err=True)


@app.command()
def storyboard(
    words: Words,
    out: Annotated[Path, typer.Option("--out", "-o", help="The PNG or JPEG file to write.")] = Path("storyboard.png"),
    character: Character = None,
    picture: Picture = None,
    product: Product = None,
    product_picture: ProductPicture = None,
    director: Director = "clean",
    seed: Seed = 0,
    aspect: Aspect = "16:9",
    lyrics: Lyrics = None,
    title: Title = "",
    artist: Artist = "",
    demo_song: DemoSong = False,
    demo_seconds: DemoSeconds = _DEMO,
) -> None:
    """Draw a storyboard with one picture of each scene, and print the scenes."""
    _require_extra()
    _check_out(out, (".png", ".jpg", ".jpeg"))
    from gateleg.apps.mv.storyboards import make_storyboard

    with (
        _exit_on_error(),
        _open_track(words, demo_song, demo_seconds, seed) as (song, concept),
        Steps({"sketch": "Drawing the storyboard"}) as report,
    ):
        options = _video_options(True, aspect, director, seed, character, picture, lyrics, title, artist, product, product_picture)
        report("sketch", 0.0)
        made = make_storyboard(song, concept, out, _library(), options, lambda done, text: report("sketch", done))
    plan = made.plan
    for slot, text in zip(plan.slots, made.texts, strict=True):
        typer.echo(f"{slot.index + 1:3}  {slot.first / plan.fps:6.1f} s  {slot.part:<7}{text.prompt}")
    typer.echo(f"{out}: {len(plan.slots)} scenes")


@app.command()
def listen(
    song: Annotated[Path, typer.Argument(help="An audio or video file.")],
    json: JsonOption = False,
) -> None:
    """Analyse a song and print its tempo, key, loudness and sections."""
    _require_extra()
    from gateleg.apps.mv.listening.song import listen as hear_file

    with _exit_on_error():
        heard = hear_file(_file(song, "song"))
    if json:
        print_json(heard.to_json())
        return
    loudness = heard.loudness
    typer.echo(f"{heard.duration:.1f} s, {_tempo(heard)}, {heard.meter} beats a bar, {heard.key}")
    typer.echo(f"{loudness.integrated:.1f} LUFS, true peak {loudness.true_peak:.1f} dB")
    for one in heard.sections:
        typer.echo(f"{one.start:6.1f} s  {one.part:<7}{one.letter}  {'#' * round(one.energy * 20)}")


@app.command()
def directors(json: JsonOption = False) -> None:
    """List the director presets for --director."""
    from gateleg.apps.mv.planning.presets import PRESETS

    if json:
        print_json([{"name": one.name, "title": one.title, "description": one.description} for one in PRESETS.values()])
        return
    for one in PRESETS.values():
        typer.echo(f"{one.name:<17}{one.description}")


def _require_extra() -> None:
    from gateleg.apps.mv.extra_packages import PACKAGES

    require_packages("mv", *PACKAGES)


@contextmanager
def _exit_on_error() -> Iterator[None]:
    """Turn errors into a message and an exit status."""
    from gateleg.ai import AiError
    from gateleg.apps.mv.errors import MusicVideoError

    try:
        yield
    except (MusicVideoError, AiError) as error:
        fail(str(error))
    except OSError as error:
        fail(f"{error.filename or 'A file'}: {error.strerror or error}.")


def _check_out(out: Path, endings: tuple[str, ...]) -> None:
    """Fail early if the output file cannot be written."""
    if out.suffix.lower() not in endings:
        fail(f"{out} must end in {' or '.join(endings)}.")
    if out.is_dir() or not out.parent.is_dir():
        fail(f"{out} cannot be written: {'it is a folder' if out.is_dir() else f'the folder {out.parent} does not exist'}.")


def _file(path: Path, what: str) -> Path:
    if not path.is_file():
        fail(f"the {what} {path} does not exist.")
    return path


@contextmanager
def _open_track(words: list[str], demo: bool, seconds: float, seed: int) -> Iterator[tuple[Path, str]]:
    """The song and the sentence from the command line."""
    if demo and len(words) == 1:
        from gateleg.apps.mv.listening.sound import write_wave
        from gateleg.apps.mv.music import synthesise_song

        with tempfile.TemporaryDirectory(prefix="gateleg-mv-") as folder:
            path = Path(folder) / "demo.wav"
            write_wave(synthesise_song(seconds, seed=seed).sound, path)
            yield path, _sentence(words[0])
    elif not demo and len(words) == 2:
        yield _file(Path(words[0]), "song"), _sentence(words[1])
    elif demo:
        fail("with --demo-song, give one sentence in quotes, and no song.")
    else:
        fail("give a song and a sentence in quotes, or --demo-song and a sentence.")


def _sentence(text: str) -> str:
    if not text.strip():
        fail("the sentence is empty. Describe what the video is about.")
    return text.strip()


def _video_options(
    draft: bool,
    aspect: Literal["16:9", "9:16", "1:1"],
    director: str,
    seed: int,
    character: str | None,
    picture: Path | None,
    lyrics: Path | None,
    title: str,
    artist: str,
    product: str | None,
    product_picture: Path | None,
) -> "VideoOptions":
    from gateleg.apps.mv.planning.presets import find_preset
    from gateleg.apps.mv.productions import canvas_for
    from gateleg.apps.mv.settings import MVSettings
    from gateleg.apps.mv.studio import VideoOptions

    for path in (picture, product_picture):
        if path is not None:
            # Decode the picture now, so that a broken file is reported before the work begins.
            from gateleg.apps.mv.drawing.picture import read_picture

            read_picture(_file(path, "picture"))
    return VideoOptions(
        canvas=canvas_for(_DRAFT if draft else _FILM, aspect),
        director=find_preset(director).name,
        seed=seed,
        subject=character or ("The character" if picture else None),
        picture=picture,
        product=product or ("The product" if product_picture else None),
        product_picture=product_picture,
        title=title,
        artist=artist,
        fonts=settings_from(None).section("mv", MVSettings).fonts,
        lyrics="" if lyrics is None else _file(lyrics, "lyrics file").read_text(encoding="utf-8", errors="replace"),
    )


def _library() -> "Library":
    """The library of elements, with the embedding model of the settings (a local one by default)."""
    from gateleg.ai import Models, ModelSettings
    from gateleg.apps.mv.drawing.looks import open_library

    settings = settings_from(None)
    with explaining_bad_settings():
        models = Models(settings.section("models", ModelSettings))
    return open_library(models.embeddings().embed)


def _report_steps(report: Callable[[str, float], None]) -> "Progress":
    """Convert overall progress into progress of the single steps."""

    def report_overall(fraction: float, text: str) -> None:
        start = 0.0
        for step, end in _SHARES:
            if fraction < end or end == 1.0:
                report(step, (fraction - start) / (end - start))
                return
            start = end

    return report_overall


def _tempo(song: "Song") -> str:
    return f"{song.tempo:.0f} BPM" if song.has_pulse else "no clear beat"
