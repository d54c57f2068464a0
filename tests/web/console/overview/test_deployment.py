from gateleg.jobs.monitor import QueueStats
from gateleg.jobs.tables import Schedule, WorkerRecord
from gateleg.web.console.overview.page import queues_text, schedules_text, workers_text
from tests.web.console.jobs.samples import NOW, number


def worker(name: str, host: str = "a", version: str = "", running: int = 0, queues: tuple[str, ...] = ("media", "math")) -> WorkerRecord:
    busy = [number(at) for at in range(running)]
    return WorkerRecord(
        worker_id=name, host=host, pid=1, app_version=version, concurrency=4, running=busy, started_at=NOW, seen_at=NOW, queues=list(queues)
    )


def test_workers_are_counted_by_process_machine_and_version() -> None:
    assert workers_text([]) == "none: jobs wait until a worker is started"
    assert workers_text([worker("1", running=2)]) == "1 process on a, running 2 of up to 4 jobs"
    both = [worker("1", version="1.0"), worker("2", host="b", version="1.1")]
    assert workers_text(both) == "2 processes on 2 machines, running 0 of up to 8 jobs, version 1.0 and 1.1"


def test_a_queue_with_a_worker_of_its_own_is_counted_apart() -> None:
    crew = [worker("1:agents", running=3, queues=("agents",)), worker("1", running=1)]
    assert workers_text(crew) == "1 process on a, running 1 of up to 4 jobs, 3 of up to 4 in agents"


def test_queues_that_do_not_run_are_named() -> None:
    running, paused = QueueStats("media", "running", 0, 0, 0, None, 15), QueueStats("night", "paused", 0, 0, 0, None, 15)
    assert queues_text([running]) == "1, all running"
    assert queues_text([running, paused]) == "2, night is paused"


def test_schedules_that_are_off_are_counted() -> None:
    on, off = Schedule(name="a", job_type="REEL", every=5), Schedule(name="b", job_type="REEL", every=5, enabled=False)
    assert schedules_text([]) == "none"
    assert schedules_text([on]) == "1"
    assert schedules_text([on, off]) == "2, 1 disabled"
