"""Render clips in parallel, in worker processes that can be killed."""

from __future__ import annotations

import multiprocessing
import os
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any

from gateleg.apps.mv.callbacks import check_cancelled, ignore_progress, never_cancelled
from gateleg.apps.mv.composing.clips import Clip, ClipOrder, render_clip

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gateleg.apps.mv.callbacks import Cancelling, Progress
    from gateleg.apps.mv.listening.song import Song

#: Frames between two progress reports of a process.
_FRAMES_PER_REPORT = 6


@dataclass(slots=True)
class _Worker:
    process: Any
    line: Connection
    #: the index of the clip that it renders; -1 if idle
    clip: int = -1


@dataclass(slots=True)
class _RenderQueue:
    """Clips that are waiting, being rendered and finished."""

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
    progress: Progress = ignore_progress,
    cancelled: Cancelling = never_cancelled,
) -> tuple[Clip, ...]:
    """Render clips in worker processes, by default one per core, or with `workers=0` in this process.

    If a clip fails or the work is cancelled, the processes are killed and the error is raised. Files of finished clips are kept.
    """
    if workers == 0:
        return _render_here(orders, song, paths, progress, cancelled)
    count = min(workers or os.cpu_count() or 1, len(orders))
    # Render the longest clips first, so that no process starts a long clip at the end.
    waiting = sorted(range(len(orders)), key=lambda number: orders[number].scene.frames)
    queue = _RenderQueue(orders, paths, waiting, [0] * len(orders))
    team = [_start(song) for _ in range(count)]
    try:
        _run(team, queue, progress, cancelled)
    finally:
        for worker in team:
            worker.line.close()
            worker.process.kill()
            worker.process.join()
    return tuple(queue.clips[number] for number in range(len(orders)))


def _render_here(
    orders: Sequence[ClipOrder], song: Song, paths: Sequence[Path], progress: Progress, cancelled: Cancelling
) -> tuple[Clip, ...]:
    total, before, clips = sum(order.scene.frames for order in orders), 0, []
    for order, path in zip(orders, paths, strict=True):
        clips.append(render_clip(order, song, path, ignore_progress, cancelled))
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


def _run(team: Sequence[_Worker], queue: _RenderQueue, progress: Progress, cancelled: Cancelling) -> None:
    total = sum(order.scene.frames for order in queue.orders)
    while len(queue.clips) < len(queue.orders):
        for worker in team:
            if worker.clip < 0 and queue.waiting:
                worker.clip = queue.waiting.pop()
                worker.line.send((queue.orders[worker.clip], queue.paths[worker.clip]))
        for line in wait([worker.line for worker in team], timeout=0.25):
            _receive(next(worker for worker in team if worker.line is line), queue)
        check_cancelled(cancelled)
        progress(sum(queue.drawn) / total, f"frame {sum(queue.drawn)} of {total}")


def _receive(worker: _Worker, queue: _RenderQueue) -> None:
    try:
        message = worker.line.recv()
    except EOFError:
        worker.process.join()
        raise ChildProcessError(
            f"The process that rendered clip {worker.clip + 1} ended with exit code {worker.process.exitcode}."
        ) from None
    if isinstance(message, int):
        queue.drawn[worker.clip] = message
    elif isinstance(message, Clip):
        queue.drawn[worker.clip] = message.frames
        queue.clips[worker.clip] = message
        worker.clip = -1
    else:
        raise message


def _work(song: Song, line: Connection) -> None:
    """The main loop of a worker process: render the clips from the connection until it is closed."""
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
        if counted[0] % _FRAMES_PER_REPORT == 0:
            line.send(counted[0])

    return report
