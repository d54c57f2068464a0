"""The logic of chat: one call, a stream, a structure. Flows, run by the drivers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

from gateleg.ai.asking import asked_of, file_problems
from gateleg.ai.errors import AiError, BadAsk, BadStructure, NotOffered, StreamBroken
from gateleg.ai.forecasts import forecast_ask
from gateleg.ai.providers.counting import estimate
from gateleg.ai.providers.protocol import FileProvider
from gateleg.ai.replies import NOTHING, Delta, Gathering, Structured
from gateleg.ai.steps import Say
from gateleg.ai.structures import Misfit, corrected, instructed, read_structure, shape_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gateleg.ai.addresses import ModelAddress
    from gateleg.ai.asking import Asked, AskOptions
    from gateleg.ai.messages import Attachment, Message, UploadedFile
    from gateleg.ai.providers.protocol import ChatProvider
    from gateleg.ai.replies import Reply, TokenCount, Usage
    from gateleg.ai.setup import Setup
    from gateleg.ai.steps import Flow
    from gateleg.ai.trying import Deadline

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Answering:
    """A chat model, with all that its calls share."""

    address: ModelAddress
    provider: ChatProvider
    setup: Setup
    #: whether answers are kept in the store
    cache: bool = False

    def reply(self, asked: Asked) -> Flow[Reply]:
        """The answer to an ask, from the cache if it is there."""
        known = yield from self._recalled(asked)
        if known is not None:
            return known
        call = self.setup.trying.attempts(lambda deadline: self.provider.reply(asked, deadline), asked.timeout)
        forecast = self._forecast(asked)
        reply, usage = yield from self.setup.metered(
            self.address, forecast, call, lambda reply: reply.usage.or_estimated(_guessed(forecast, reply.text + reply.reasoning))
        )
        return (yield from self._finished(asked, replace(reply, usage=usage)))

    def stream(self, asked: Asked) -> Flow[None]:
        """Says the answer piece by piece, and the whole at the end."""
        known = yield from self._recalled(asked)
        if known is not None:
            if known.text:
                yield Say(Delta(text=known.text))
            yield Say(Delta(reply=known))
            return
        forecast, gathering = self._forecast(asked), Gathering()
        # What fails before its first piece is tried again, so nothing is gathered twice.
        call = self.setup.trying.attempts(lambda deadline: self._streamed(asked, deadline, gathering), asked.timeout)
        reply, usage = yield from self.setup.metered(
            self.address,
            forecast,
            call,
            lambda reply: reply.usage.or_estimated(_guessed(forecast, gathering.written)),
            lambda: _guessed(forecast, gathering.written),
        )
        yield Say(Delta(reply=(yield from self._finished(asked, replace(reply, usage=usage)))))

    def structured(self, model: type[M], messages: Iterable[Message], options: AskOptions, repairs: int) -> Flow[Structured[M]]:
        """A structure; a model that misses it is told what is wrong, up to `repairs` times."""
        shape = shape_of(model)
        asked = asked_of(instructed(messages, shape), options, shape)
        usage, attempt = NOTHING, 0
        while True:
            attempt += 1
            reply = yield from self.reply(asked)
            usage += reply.usage
            try:
                return Structured(read_structure(model, reply.text), reply, usage, attempt)
            except Misfit as misfit:
                if attempt > repairs:
                    raise _unstructured(model, reply, misfit, attempt) from None
                asked = replace(asked, messages=corrected(asked.messages, reply, misfit.problems))

    def upload(self, file: Attachment) -> Flow[UploadedFile]:
        """Keep a file at the provider. It is not tried again: a second one might be kept."""
        provider = self._keeper()
        for problem in file_problems(file):
            raise BadAsk(problem)
        return (yield from provider.upload(file, self.setup.trying.deadline()))

    def forget(self, upload: UploadedFile) -> Flow[None]:
        """Have the provider delete a file."""
        provider = self._keeper()
        yield from self.setup.trying.attempts(lambda deadline: provider.forget(upload, deadline))

    def _keeper(self) -> FileProvider:
        if not isinstance(self.provider, FileProvider):
            raise NotOffered(f"{self.address} keeps no files.", fix="Send the file with the message, as an Attachment.")
        return self.provider

    def count(self, text: str) -> Flow[TokenCount]:
        """How long a text is for this model."""
        return (yield from self.setup.trying.attempts(lambda deadline: self.provider.count(text, deadline)))

    def _streamed(self, asked: Asked, deadline: Deadline, gathering: Gathering) -> Flow[Reply]:
        try:
            return (yield from self.provider.stream(asked, deadline, gathering))
        except AiError as error:
            if not gathering.begun:
                raise
            broken = StreamBroken(f"The stream broke in the middle of the answer. {error.message}", text=gathering.text)
            broken.public = f"The stream broke in the middle of the answer. {error.public or ''}".strip()
            raise broken from error

    def _recalled(self, asked: Asked) -> Flow[Reply | None]:
        if not self.cache:
            return None
        from gateleg.ai.cache import ask_digest, recall, reply_of

        digest = ask_digest(str(self.address), asked)
        entry = (yield from recall([digest])).get(digest)
        reply = None if entry is None else reply_of(entry)
        return None if reply is None else replace(reply, cached=True, usage=NOTHING)

    def _forecast(self, asked: Asked) -> Usage:
        return forecast_ask(asked, self.setup.settings.caps.output_tokens)

    def _finished(self, asked: Asked, reply: Reply) -> Flow[Reply]:
        if self.cache and reply.finish != "filtered":
            from gateleg.ai.cache import ask_digest, remember, reply_entry

            model = str(self.address)
            yield from remember([reply_entry(ask_digest(model, asked), model, reply, self.setup.settings.cache_days)])
        return reply


def _guessed(forecast: Usage, written: str) -> Usage:
    return replace(forecast, output=estimate(written).tokens)


def _unstructured(model: type[BaseModel], reply: Reply, misfit: Misfit, attempts: int) -> BadStructure:
    short = " It ran out of tokens." if reply.finish == "length" else ""
    return BadStructure(
        f"The model gave no {model.__name__} in {attempts} attempts: {str(misfit).rstrip('.')}.{short}",
        text=reply.text,
        problems=misfit.problems,
        attempts=attempts,
    )
