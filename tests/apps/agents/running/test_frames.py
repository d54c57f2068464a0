"""What is streamed of a run."""

from gateleg.apps.agents.running.frames import Frame, reply_text


def test_a_frame_is_the_same_after_the_wire() -> None:
    frame = Frame(kind="call", step=2, id="c1", name="delphi.find", data={"x": [1, 2.5, None]}, status="in_progress")
    assert Frame.of_event(frame.to_event(), 7) == frame.model_copy(update={"index": 7})
    assert Frame(kind="text", delta="a").to_event() == {"kind": "text", "delta": "a"}


def test_what_was_written_before_a_restart_is_forgotten() -> None:
    frames = [Frame(kind="text", delta="Hel", step=1), Frame(kind="restart", step=1), Frame(kind="text", delta="Hello", step=1)]
    assert reply_text(frames) == "Hello"


def test_the_text_is_that_of_the_last_reply() -> None:
    frames = [
        Frame(kind="text", delta="Let me look.", step=1),
        Frame(kind="text", delta="It is ", step=2),
        Frame(kind="text", delta="7.", step=2),
    ]
    assert reply_text(frames) == "It is 7."
