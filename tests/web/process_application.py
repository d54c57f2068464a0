"""An application whose handler runs in a process, with settings of its own."""

import os
from typing import Any

from prometheus_client import Counter, Gauge, Histogram
from pydantic import BaseModel

from gateleg.host import Application, Resources
from gateleg.jobs import JobContext, Jobs


class StudioSettings(BaseModel):
    greeting: str = "Hello"


class Order(BaseModel):
    word: str


def make_jobs(resources: Resources[StudioSettings]) -> Jobs:
    jobs = Jobs()
    frames = Counter("studio_frames", "Frames drawn.", ["kind"], registry=resources.metrics)
    letters = Histogram("studio_letters", "Letters of a title.", registry=resources.metrics)
    busy = Gauge("studio_busy", "Whether the studio draws.", registry=resources.metrics)

    @jobs.handler("studio.render", runs="process", limit_per_worker=1)
    def render(job: JobContext, order: Order) -> dict[str, Any]:
        busy.set(1)
        frames.labels("title").inc()
        letters.observe(len(order.word))
        file = job.scratch / "film.txt"
        file.write_text(f"{resources.settings.greeting}, {order.word}")
        job.wait(resources.objects.put(f"studio/{job.job_id}.txt", file.read_bytes(), content_type="text/plain"))
        return {"pid": os.getpid(), "status": job.wait(resources.queue.get(job.job_id)).status}

    return jobs


application = Application(name="studio", title="Studio", icon="movie", settings=StudioSettings, jobs=make_jobs)
