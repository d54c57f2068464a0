"""Models: chat, embeddings, reranking and media, local by default. Nothing is billed unless it was configured.

    models = Models(store=store)                        or AsyncModels(store=...), whose models are awaited
    chat = models.chat()                                local:smollm2; or chat("ollama:llama3.2"), chat("openai:gpt-x", key=...)
    reply = chat.reply([System("Be brief."), User("Why is the sky blue?")], max_tokens=80, seed=1)
    for delta in chat.stream([...]): ...                the last delta has the whole reply
    topic = chat.structured(Topic, [User(...)]).value   a pydantic model, validated
    vectors = models.embeddings().embed(texts)          float32, one unit vector for each text

The logic is written once, as flows (`steps.py`): generators of steps that a sync or an async driver runs (`drivers.py`), as in the
store. `models.py` makes the methods of both kinds from the flows of `chat.py`, `embeddings.py` and `media.py`. Providers are in
`providers/`, all of one family (`remote.py`, and a dialect for each API), and each is imported when it is used. Errors are in `errors.py`,
one class for each kind of failure.
"""

from gateleg.ai.chat_requests import AskOptions
from gateleg.ai.errors import (
    AiError,
    KeyMissing,
    ModelFailed,
    ModelUnreachable,
    RateLimited,
    SpendCapReached,
)
from gateleg.ai.media import MediaJob, MediaOutput, MediaRequest
from gateleg.ai.messages import (
    Assistant,
    Attachment,
    Message,
    System,
    Tool,
    ToolCall,
    ToolResult,
    UploadedFile,
    User,
)
from gateleg.ai.models import (
    AsyncChat,
    AsyncEmbeddings,
    AsyncMedia,
    AsyncModels,
    AsyncRerank,
    Chat,
    Embeddings,
    Media,
    Models,
    Rerank,
)
from gateleg.ai.provider import Script
from gateleg.ai.providers.pydantic_ai import PydanticAiChat
from gateleg.ai.replies import Delta, Price, Reply, Structured, Usage
from gateleg.ai.settings import DEFAULT_MODEL, ModelSettings
from gateleg.ai.spending import Account
from gateleg.ai.tables import MODEL_TABLES, ModelCall, UsageDay

__all__ = [
    "DEFAULT_MODEL",
    "MODEL_TABLES",
    "Account",
    "AiError",
    "AskOptions",
    "Assistant",
    "AsyncChat",
    "AsyncEmbeddings",
    "AsyncMedia",
    "AsyncModels",
    "AsyncRerank",
    "Attachment",
    "Chat",
    "Delta",
    "Embeddings",
    "KeyMissing",
    "Media",
    "MediaJob",
    "MediaOutput",
    "MediaRequest",
    "Message",
    "ModelCall",
    "ModelFailed",
    "ModelSettings",
    "ModelUnreachable",
    "Models",
    "Price",
    "PydanticAiChat",
    "RateLimited",
    "Reply",
    "Rerank",
    "Script",
    "SpendCapReached",
    "Structured",
    "System",
    "Tool",
    "ToolCall",
    "ToolResult",
    "UploadedFile",
    "Usage",
    "UsageDay",
    "User",
]
