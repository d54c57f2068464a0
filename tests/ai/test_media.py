"""Pictures, films and lip-sync: against servers that speak the Gemini API and Replicate's."""

import base64
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from gateleg.ai import (
    MODEL_TABLES,
    Account,
    AsyncModels,
    Attachment,
    MediaJob,
    MediaRequest,
    Models,
    ModelSettings,
    Price,
    RateLimited,
    SpendCapReached,
    UsageDay,
)
from gateleg.ai.errors import (
    ContentRefused,
    InvalidModelRequest,
    MediaFailed,
    ModelAccessDenied,
    ModelRefused,
    NothingSubmitted,
    NotOffered,
    SubmissionUnknown,
)
from gateleg.ai.settings import SpendCaps
from gateleg.ai.tables import Spend
from gateleg.store import AsyncStore, Store
from tests.ai.driving import Ticking
from tests.ai.speaking import asked, head, said
from tests.net.http.faulty import RESET, answer, service

FILM = MediaRequest("video", "A cat plays the piano", negative_prompt="dogs", seconds=Decimal(8), aspect_ratio="16:9")
FACE = Attachment("image/png", b"\x89PNG", "face.png")
NAME = "models/veo-x/operations/op1"


@pytest.fixture
def store() -> Store:
    store = Store.embedded()
    store.ensure_tables(*MODEL_TABLES)
    return store


def models(store: Store, **settings: Any) -> Models:
    return Models(ModelSettings(**settings), store=store, account=Account("mv", "acme"), sleep=Ticking().sleep)


def prediction(status: str, output: Any = None, error: str | None = None, **more: Any) -> dict[str, Any]:
    urls = {"get": "https://api.replicate.com/v1/predictions/p1", "cancel": "https://api.replicate.com/v1/predictions/p1/cancel"}
    return {"id": "p1", "status": status, "output": output, "error": error, "urls": urls} | more


def recorded(store: Store) -> list[UsageDay]:
    return list(store.query(UsageDay.of_application, application="mv"))


def test_veo_is_submitted_polled_and_fetched(store: Store) -> None:
    with service() as server, models(store) as own:
        video = {"video": {"uri": f"{server.url}/v1beta/files/f1:download?alt=media"}}
        server.script += [
            said({"name": NAME}),
            said({"name": NAME}),
            said({"name": NAME, "done": True, "response": {"generateVideoResponse": {"generatedSamples": [video]}}}),
            answer(b"", 302, location=f"{server.url}/elsewhere"),
            answer(b"the film", content_type="video/mp4"),
        ]
        veo = own.media(f"gemini:veo-x@{server.url}", key="k-0123456")
        assert veo.submit(FILM, token="scene-1").status == "running"
        job = veo.wait("scene-1", every=1.0)
        film = veo.fetch(job)
    assert (film.media_type, film.data) == ("video/mp4", b"the film")
    assert head(server, 0).startswith("post /v1beta/models/veo-x:predictlongrunning http/1.1")
    assert "x-goog-api-key: k-0123456" in head(server, 0)
    assert asked(server, 0) == {
        "instances": [{"prompt": "A cat plays the piano"}],
        "parameters": {"aspectRatio": "16:9", "negativePrompt": "dogs", "durationSeconds": 8},
    }
    assert head(server, 1).startswith(f"get /v1beta/{NAME} ".lower())
    assert "x-goog-api-key" in head(server, 3)


def test_key_does_not_follow_a_redirection_to_another_place(store: Store) -> None:
    with service(answer(b"film")) as elsewhere, service() as server, models(store) as own:
        video = {"video": {"uri": f"{server.url}/files/f1"}}
        server.script += [
            said({"name": NAME}),
            said({"done": True, "response": {"generateVideoResponse": {"generatedSamples": [video]}}}),
            answer(b"", 307, location=f"{elsewhere.url}/film"),
        ]
        veo = own.media(f"gemini:veo-x@{server.url}", key="k-0123456")
        veo.submit(FILM, token="1")
        assert veo.fetch(veo.wait("1")).data == b"film"
    assert b"k-0123456" in server.requests[2]
    assert b"k-0123456" not in elsewhere.requests[0]


def test_veo_takes_a_first_frame_and_references(store: Store) -> None:
    picture = {"bytesBase64Encoded": base64.b64encode(FACE.data).decode(), "mimeType": "image/png"}
    with service(said({"name": NAME})) as server, models(store) as own:
        request = MediaRequest("video", "She sings", image=FACE, references=(FACE,), count=2, options={"resolution": "720p"})
        own.media(f"gemini:veo-x@{server.url}", key="k").submit(request, token="1")
    assert asked(server) == {
        "instances": [{"prompt": "She sings", "image": picture, "referenceImages": [{"image": picture, "referenceType": "asset"}]}],
        "parameters": {"sampleCount": 2, "resolution": "720p"},
    }


@pytest.mark.parametrize(
    ("ended", "status"),
    [
        ({"response": {"generateVideoResponse": {"raiMediaFilteredCount": 1, "raiMediaFilteredReasons": ["celebrity"]}}}, "refused"),
        ({"error": {"code": 3, "message": "The prompt violates our usage policies."}}, "refused"),
        ({"error": {"code": 13, "message": "Internal."}}, "failed"),
    ],
)
def test_end_of_a_film_that_was_not_made_is_told_apart(store: Store, ended: dict[str, Any], status: str) -> None:
    with service(said({"name": NAME}), said({"done": True} | ended)) as server, models(store) as own:
        veo = own.media(f"gemini:veo-x@{server.url}", key="k")
        veo.submit(FILM, token="1")
        assert veo.poll("1").status == status
        with pytest.raises(ContentRefused if status == "refused" else MediaFailed):
            veo.wait("1")
    assert len(server.requests) == 2


def test_imagen_makes_pictures_at_once(store: Store) -> None:
    made = {"mimeType": "image/png", "bytesBase64Encoded": base64.b64encode(b"picture").decode()}
    with service(said({"predictions": [made, made]})) as server, models(store) as own:
        imagen = own.media(f"gemini:imagen-x@{server.url}", key="k")
        job = imagen.submit(MediaRequest("image", "A cat", count=2), token="1")
        assert [imagen.fetch(job, number).data for number in (0, 1)] == [b"picture", b"picture"]
        with pytest.raises(SubmissionUnknown, match="returned by its first call"):
            imagen.submit(MediaRequest("image", "A cat", count=2), token="1")
    assert head(server).startswith("post /v1beta/models/imagen-x:predict ")
    assert asked(server) == {"instances": [{"prompt": "A cat"}], "parameters": {"sampleCount": 2, "includeRaiReason": True}}
    assert len(server.requests) == 1


def test_picture_that_is_against_the_rules_is_asked_for_once(store: Store) -> None:
    with service(said({"predictions": [{"raiFilteredReason": "unsafe"}]})) as server, models(store) as own:
        imagen = own.media(f"gemini:imagen-x@{server.url}", key="k")
        for _ in range(2):
            with pytest.raises(ContentRefused, match="unsafe"):
                imagen.submit(MediaRequest("image", "A cat"), token="1")
    assert len(server.requests) == 1


def test_replicate_is_submitted_polled_and_fetched(store: Store) -> None:
    with service() as server, models(store) as own:
        server.script += [
            said(prediction("starting"), 201),
            said(prediction("processing")),
            said(prediction("succeeded", f"{server.url}/out.mp4")),
            answer(b"film", content_type="video/mp4"),
        ]
        veo = own.media(f"replicate:google/veo-3@{server.url}", key="r8-0123456")
        veo.submit(FILM, token="1")
        film = veo.fetch(veo.wait("1"))
    assert film.data == b"film"
    assert head(server, 0).startswith("post /models/google/veo-3/predictions ")
    assert "authorization: bearer r8-0123456" in head(server, 0)
    assert asked(server, 0) == {
        "input": {"prompt": "A cat plays the piano", "negative_prompt": "dogs", "duration": 8, "aspect_ratio": "16:9"}
    }
    assert head(server, 1).startswith("get /predictions/p1 ")


def test_lip_sync_sends_film_and_recording_large_ones_as_uploads(store: Store) -> None:
    film, voice = Attachment("video/mp4", b"f" * 300_000, "a.mp4"), Attachment("audio/wav", b"RIFF", "a.wav")
    kept = {"id": "f1", "urls": {"get": "https://api.replicate.com/v1/files/f1"}}
    with service(said(kept, 201), said(prediction("starting"), 201)) as server, models(store) as own:
        version = "a" * 64
        own.media(f"replicate:sync/lipsync-2:{version}@{server.url}", key="k").submit(
            MediaRequest("lip-sync", video=film, options={"audio_file": voice, "sync_mode": "loop"}), token="1"
        )
    assert b'name="content"; filename="a.mp4"' in server.requests[0]
    assert asked(server) == {
        "version": version,
        "input": {
            "video": "https://api.replicate.com/v1/files/f1",
            "audio_file": f"data:audio/wav;base64,{base64.b64encode(b'RIFF').decode()}",
            "sync_mode": "loop",
        },
    }


def test_content_that_replicate_refuses_is_not_sent_again(store: Store) -> None:
    refused = prediction("failed", error="The input or output was flagged as sensitive. (E005)")
    with service(said(prediction("starting"), 201), said(refused)) as server, models(store) as own:
        veo = own.media(f"replicate:google/veo-3@{server.url}", key="k")
        veo.submit(FILM, token="1")
        with pytest.raises(ContentRefused, match="sensitive"):
            veo.wait("1")
        with pytest.raises(ContentRefused):
            veo.submit(FILM, token="1")
    assert len(server.requests) == 2
    assert [(usage.failed, usage.cost) for usage in recorded(store)] == [(1, Decimal(0))]


@pytest.mark.parametrize(
    "body",
    [
        {"title": "Input rejected", "detail": "prompt flagged as sensitive (E005)", "status": 422},
        {"detail": [{"loc": ["body", "prompt"], "msg": "prompt flagged as sensitive (E005)", "type": "value_error"}]},
        {"error": None, "detail": {"message": "prompt flagged as sensitive (E005)"}},
        {"type": "about:blank", "title": "prompt flagged as sensitive (E005)"},
    ],
)
def test_a_submission_that_replicate_refuses_for_its_content_is_not_sent_again(body: dict[str, Any], store: Store) -> None:
    with service(said(body, 422)) as server, models(store) as own:
        veo = own.media(f"replicate:google/veo-3@{server.url}", key="k")
        with pytest.raises(ContentRefused, match=r"answered 422.*: .*flagged as sensitive \(E005\)") as caught:
            veo.submit(FILM, token="1")
        assert "about:blank" not in caught.value.message
        with pytest.raises(ContentRefused, match="sensitive"):
            veo.submit(FILM, token="1")
    assert len(server.requests) == 1


def test_a_submission_that_gemini_refuses_for_its_content_is_not_sent_again(store: Store) -> None:
    said_no = said({"error": {"code": 400, "message": "The prompt violates our usage policies.", "status": "INVALID_ARGUMENT"}}, 400)
    with service(said_no) as server, models(store) as own:
        veo = own.media(f"gemini:veo-x@{server.url}", key="k")
        for _ in range(2):
            with pytest.raises(ContentRefused, match="usage policies"):
                veo.submit(FILM, token="1")
    assert len(server.requests) == 1


def test_a_submission_that_was_not_accepted_says_why_and_may_be_made_again(store: Store) -> None:
    with service(said({"detail": "no such version"}, 422), said(prediction("starting"), 201)) as server, models(store) as own:
        veo = own.media(f"replicate:google/veo-3@{server.url}", key="k")
        with pytest.raises(ModelRefused, match="no such version"):
            veo.submit(FILM, token="1")
        with pytest.raises(NothingSubmitted, match="no such version"):
            veo.poll("1")
        assert veo.submit(FILM, token="1").status == "running"


def test_progress_of_a_prediction_is_the_last_bar_of_its_log(store: Store) -> None:
    logs = "Seed: 4\n  0%|          | 0/50\n 36%|###6      | 18/50 [00:02<00:04]\nmemory 90%"
    states = [prediction("starting"), prediction("processing"), prediction("processing", logs=logs), prediction("processing", logs=None)]
    with service(said(states[0], 201), *map(said, states)) as server, models(store) as own:
        veo = own.media(f"replicate:google/veo-3@{server.url}", key="k")
        veo.submit(FILM, token="1")
        assert [veo.poll("1").progress for _ in states] == [0.0, None, 0.36, None]


def test_lip_sync_is_sent_what_such_models_know(store: Store) -> None:
    film, voice = Attachment("video/mp4", b"f"), Attachment("audio/wav", b"RIFF")
    request = MediaRequest("lip-sync", seconds=Decimal(2), video=film, audio=voice, options={"sync_mode": "loop"})
    with service(said(prediction("starting"), 201)) as server, models(store) as own:
        own.media(f"replicate:sync/lipsync-2@{server.url}", key="k").submit(request, token="1")
    assert set(asked(server)["input"]) == {"video", "audio", "sync_mode"}


def test_killed_worker_goes_on_polling_and_submits_nothing_again(store: Store) -> None:
    """The second Models knows no more than what is in the store."""
    with service(said(prediction("starting"), 201), said(prediction("succeeded", ["https://x/1.mp4"]))) as server:
        address = f"replicate:google/veo-3@{server.url}"
        with models(store) as first:
            first.media(address, key="k").submit(FILM, token="1")
        with models(store) as second:
            again = second.media(address, key="k").submit(FILM, token="1")
            assert again.status == "running"
            job = second.media(address, key="k").wait("1")
    assert [output.url for output in job.outputs] == ["https://x/1.mp4"]
    assert len(server.requests) == 2


def test_submission_whose_answer_is_lost_is_not_made_again(store: Store) -> None:
    with service(RESET) as server, models(store) as own:
        veo = own.media(f"replicate:google/veo-3@{server.url}", key="k")
        for _ in range(2):
            with pytest.raises(SubmissionUnknown):
                veo.submit(FILM, token="1")
        with pytest.raises(SubmissionUnknown):
            veo.poll("1")
    assert len(server.requests) == 1
    assert [usage.estimated for usage in recorded(store)] == [1]


def test_submission_that_was_clearly_not_taken_may_be_made_again(store: Store) -> None:
    busy, denied = said({"detail": "slow down"}, 429), said({"detail": "no"}, 401)
    with service(busy, denied, said(prediction("starting"), 201)) as server, models(store) as own:
        veo = own.media(f"replicate:google/veo-3@{server.url}", key="k")
        with pytest.raises(ModelAccessDenied):
            veo.submit(FILM, token="1")
        assert veo.submit(FILM, token="1").status == "running"
    assert len(server.requests) == 3


def test_service_that_cannot_be_reached_leaves_the_token_free(store: Store) -> None:
    with service() as server:
        url = server.url
    with models(store, attempts=1) as own:
        for _ in range(2):
            with pytest.raises(Exception, match="model-unreachable"):
                own.media(f"replicate:google/veo-3@{url}", key="k").submit(FILM, token="1")


def test_failed_job_may_be_submitted_again_under_its_token(store: Store) -> None:
    with (
        service(
            said(prediction("starting"), 201), said(prediction("failed", error="out of memory")), said(prediction("starting"), 201)
        ) as server,
        models(store) as own,
    ):
        veo = own.media(f"replicate:google/veo-3@{server.url}", key="k")
        veo.submit(FILM, token="1")
        with pytest.raises(MediaFailed, match="out of memory"):
            veo.wait("1")
        assert veo.submit(FILM, token="1").status == "running"


def test_token_is_for_one_request(store: Store) -> None:
    with service(said(prediction("starting"), 201)) as server, models(store) as own:
        veo = own.media(f"replicate:google/veo-3@{server.url}", key="k")
        veo.submit(FILM, token="1")
        with pytest.raises(InvalidModelRequest, match="another request"):
            veo.submit(MediaRequest("video", "A dog"), token="1")
    assert len(server.requests) == 1


def priced(url: str, cap: int) -> dict[str, Any]:
    return {
        "prices": {f"replicate:google/veo-3@{url}": Price(second=Decimal("0.5"))},
        "caps": SpendCaps(applications={"mv": Decimal(cap)}),
        "attempts": 1,
    }


def test_cost_is_estimated_reserved_and_recorded_once(store: Store) -> None:
    done = prediction("succeeded", "https://x/1.mp4", metrics={"video_output_duration_seconds": 6})
    with service(said(prediction("starting"), 201), said(done)) as server, models(store, **priced(server.url, 7)) as own:
        veo = own.media(f"replicate:google/veo-3@{server.url}", key="k")
        assert veo.estimate(FILM).cost == 4
        veo.submit(FILM, token="1")
        with pytest.raises(SpendCapReached):
            veo.submit(FILM, token="2")
        veo.wait("1")
        veo.poll("1")
    (usage,) = recorded(store)
    assert (usage.calls, usage.seconds, usage.cost, usage.estimated) == (1, Decimal(6), Decimal(3), 0)
    assert [spend.committed for spend in spends(store)] == [3]
    assert len(server.requests) == 2


def test_refused_and_limited_submissions_release_what_was_reserved(store: Store) -> None:
    with service(said({"detail": "slow down"}, 429)) as server, models(store, **priced(server.url, 7)) as own, pytest.raises(RateLimited):
        own.media(f"replicate:google/veo-3@{server.url}", key="k").submit(FILM, token="1")
    assert [spend.committed for spend in spends(store)] == [0]


def spends(store: Store) -> list[Spend]:
    from datetime import UTC, datetime

    found = store.find(Spend, scope="application/mv", day=f"{datetime.now(UTC):%Y-%m-%d}")
    return [] if found is None else [found]


async def test_media_are_awaited_alike() -> None:
    async with AsyncStore.embedded() as store:
        await store.ensure_tables(*MODEL_TABLES)
        with service(said(prediction("starting"), 201), said(prediction("succeeded", "https://x/1.mp4"))) as server:
            async with AsyncModels(store=store, sleep=Ticking().asleep) as own:
                veo = own.media(f"replicate:google/veo-3@{server.url}", key="k")
                await veo.submit(FILM, token="1")
                job: MediaJob = await veo.wait("1")
    assert job.done


@pytest.mark.parametrize(
    "make",
    [
        lambda own: own.media("openai:x"),
        lambda own: own.media("gemini:gemini-x", key="k"),
        lambda own: own.media("gemini:veo-x", key="k").submit(MediaRequest("speech", "Hi"), token="1"),
    ],
)
def test_what_a_provider_does_not_make_is_refused(store: Store, make: Callable[[Models], Any]) -> None:
    with models(store) as own, pytest.raises(NotOffered):
        make(own)


@pytest.mark.parametrize("request_", [MediaRequest("lip-sync"), MediaRequest("video", count=0), MediaRequest("video", seconds=Decimal(0))])
def test_request_that_makes_no_sense_is_refused(store: Store, request_: MediaRequest) -> None:
    with models(store) as own, pytest.raises(InvalidModelRequest):
        own.media("replicate:a/b", key="k").submit(request_, token="1")


def test_media_need_a_store_and_a_model_its_name() -> None:
    with pytest.raises(InvalidModelRequest, match="need a store"):
        Models().media("replicate:a/b", key="k")
    with Store.embedded() as store, pytest.raises(InvalidModelRequest, match="not a model of Replicate"):
        Models(store=store).media("replicate:veo", key="k")
