"""Rendering clips side by side: processes that can be killed, each drawing one clip after another."""

from __future__ import annotations

import multiprocessing
import os
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

from gateleg.apps.mv.composing.clips import Clip, ClipOrder, render_clip
from gateleg.apps.mv.reports import never, quietly, stop_if

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gateleg.apps.mv.listening.song import Song
    from gateleg.apps.mv.reports import Cancelling, Progress

#: frames between two reports of a process
_OFTEN = 6


@dataclass(slots=True)
class _Worker:
    process: Any
    line: Connection
    #: the number of the clip that it draws, -1 when it has none
    clip: int = -1


@dataclass(slots=True)
class _Desk:
    """What is to be drawn, what is being drawn, what is finished."""

    orders: Sequence[ClipOrder]
    paths: Sequence[Path]
    waiting: list[int]
    drawn: list[int]
    clips: dict[int, Clip] = field(default_factory=dict)


def render_clips(
    orders: Sequence[ClipOrder],
    song: Song,
    paths: Sequence[Path],
    workers: int | None = None,
    progress: Progress = quietly,
    cancelled: Cancelling = never,
) -> tuple[Clip, ...]:
    """Render clips in processes of their own, as many as there are cores; with `workers=0` in this process.

    When the caller cancels, or one clip fails, the processes are killed and the error is raised; clips that were finished keep their files.
    """
    if workers == 0:
        return _render_here(orders, song, paths, progress, cancelled)
    count = min(workers or os.cpu_count() or 1, len(orders))
    # The longest first, so that no process is left with a long one at the end.
    waiting = sorted(range(len(orders)), key=lambda number: orders[number].scene.frames)
    desk = _Desk(orders, paths, waiting, [0] * len(orders))
    team = [_start(song) for _ in range(count)]
    try:
        _run(team, desk, progress, cancelled)
    finally:
        for worker in team:
            worker.line.close()
            worker.process.kill()
            worker.process.join()
    return tuple(desk.clips[number] for number in range(len(orders)))


def _render_here(
    orders: Sequence[ClipOrder], song: Song, paths: Sequence[Path], progress: Progress, cancelled: Cancelling
) -> tuple[Clip, ...]:
    total, before, clips = sum(order.scene.frames for order in orders), 0, []
    for order, path in zip(orders, paths, strict=True):
        clips.append(render_clip(order, song, path, quietly, cancelled))
        before += order.scene.frames
        progress(before / total, f"frame {before} of {total}")
    return tuple(clips)


def _start(song: Song) -> _Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(song, theirs), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _run(team: Sequence[_Worker], desk: _Desk, progress: Progress, cancelled: Cancelling) -> None:
    total = sum(order.scene.frames for order in desk.orders)
    while len(desk.clips) < len(desk.orders):
        for worker in team:
            if worker.clip < 0 and desk.waiting:
                worker.clip = desk.waiting.pop()
                worker.line.send((desk.orders[worker.clip], desk.paths[worker.clip]))
        for line in wait([worker.line for worker in team], timeout=0.25):
            _receive(next(worker for worker in team if worker.line is line), desk)
        stop_if(cancelled)
        progress(sum(desk.drawn) / total, f"frame {sum(desk.drawn)} of {total}")


def _receive(worker: _Worker, desk: _Desk) -> None:
    try:
        news = worker.line.recv()
    except EOFError:
        worker.process.join()
        raise ChildProcessError(f"The process that drew clip {worker.clip + 1} ended with exit code {worker.process.exitcode}.") from None
    if isinstance(news, int):
        desk.drawn[worker.clip] = news
    elif isinstance(news, Clip):
        desk.drawn[worker.clip] = news.frames
        desk.clips[worker.clip] = news
        worker.clip = -1
    else:
        raise news


def _work(song: Song, line: Connection) -> None:
    """The life of a process: draw what comes down the line until it is closed."""
    while True:
        try:
            order, path = line.recv()
        except EOFError:
            return
        try:
            line.send(render_clip(order, song, path, _reporter(line)))
        except BaseException as error:
            line.send(error)
            raise


def _reporter(line: Connection) -> Progress:
    counted = [0]

    def report(fraction: float, text: str) -> None:
        counted[0] += 1
        if counted[0] % _OFTEN == 0:
            line.send(counted[0])

    return report
