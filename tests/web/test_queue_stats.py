from gateleg.host.host import Host
from gateleg.jobs import ManualClock, Submission
from gateleg.jobs.monitor import QueueStats


def waiting(found: tuple[QueueStats, ...]) -> dict[str, int]:
    return {one.queue: one.waiting for one in found}


def asked(host: Host) -> int:
    return sum(tally.requests for (pattern, _), tally in host.costs.by_pattern().items() if pattern == "Job.ready")


async def test_all_who_look_within_a_moment_see_one_reading(host: Host, clock: ManualClock) -> None:
    assert waiting(await host.queue_stats.read()) == {"default": 0, "math": 0}
    await host.queue.submit(Submission("add", {"numbers": []}))
    before = asked(host)
    assert waiting(await host.queue_stats.read()) == {"default": 0, "math": 0}
    assert asked(host) == before
    clock.advance(2)
    assert waiting(await host.queue_stats.read()) == {"default": 0, "math": 1}


async def test_counting_that_takes_long_is_done_less_often(host: Host, clock: ManualClock) -> None:
    slow = host.queue.stats

    async def stats(name: str, *, minutes: int = 15) -> QueueStats:
        clock.advance(1)
        return await slow(name, minutes=minutes)

    host.queue.stats = stats  # type: ignore[assignment]
    await host.queue_stats.read()
    first = asked(host)
    clock.advance(19)
    await host.queue_stats.read()
    assert asked(host) == first
    clock.advance(1)
    await host.queue_stats.read()
    assert asked(host) > first
