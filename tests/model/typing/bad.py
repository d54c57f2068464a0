"""Code that must not type-check. Each line with an ignore is an error for both checkers; the test removes the ignores and counts."""

from uuid import UUID

from gateleg.model import Attr, Entity, field
from tests.model.seeds.agents import Partition
from tests.model.seeds.jobs import Job, JobStatus, LogEntry, Logs
from tests.model.seeds.mv import Project, Scene

job = Job(job_type="PCA", conversation_id="1")

Job(job_type="PCA")  # type: ignore
Job(job_type="PCA", conversation_id=1)  # type: ignore
Job(job_type="PCA", conversation_id="1", prioriti=3)  # type: ignore
Job(job_type="PCA", conversation_id="1", priority="high")  # type: ignore
job.priority = "high"  # type: ignore
_ = job.prioriti  # type: ignore
_ = Job.statsu  # type: ignore
Job.priority.set("high")  # type: ignore
Job.priority.set(None)  # type: ignore
Job.priority.set(Job.job_type)  # type: ignore
Job.worker_id.set(3)  # type: ignore
Job.status.to("PROCESSING")  # type: ignore
Job.priority.to(JobStatus.PENDING)  # type: ignore
Job.dependencies.append("x")  # type: ignore
_ = Job.priority < "high"  # type: ignore
_ = Job.priority + "1"  # type: ignore
Job.priority.between("a", "b")  # type: ignore
Job.ready(queue="q").filter(Job.priority == "high")  # type: ignore
Job.ready(queue="q").filter(Job.job_type != 3)  # type: ignore
Scene.in_project(Scene.project_id == 3)  # type: ignore
Project.key(Project.projekt_id == UUID(int=1))  # type: ignore
Job.status.is_in(["PENDING"])  # type: ignore
Job.logs[Logs.entries][0][LogEntry.message].set(3)  # type: ignore
Job.logs[Logs.entrys]  # type: ignore
Scene.in_projekt(project_id=UUID(int=1))  # type: ignore
Project.key(UUID(int=1))  # type: ignore
Partition()  # type: ignore
Partition(1)  # type: ignore


class Wrong(Entity):
    """Defaults of the wrong type."""

    number: Attr[int] = field("three")  # type: ignore
    text: Attr[str] = field(None)  # type: ignore
    names: Attr[list[str]] = field(factory=dict)  # type: ignore
