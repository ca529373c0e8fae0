"""Judges requests by the types of the vendors' own clients; prints what is wrong.

Reads a line for each: {"judge": a key of JUDGES, "name": …, "extensions": fields that the vendor has beyond the format, "body": …}.
"""

import json
import sys
from collections.abc import Iterable, Mapping

from pydantic import TypeAdapter, ValidationError

from anthropic.types.message_create_params import MessageCreateParamsStreaming
from google.genai import types as genai
from mistralai.client.models import ChatCompletionStreamRequest
from openai.types.chat.completion_create_params import CompletionCreateParamsStreaming
from openai.types.responses.response_create_params import ResponseCreateParamsStreaming


class Gemini(genai._common.BaseModel):
    """The body of streamGenerateContent."""

    contents: list[genai.Content]
    system_instruction: genai.Content | None = None
    tools: list[genai.Tool] | None = None
    generation_config: genai.GenerationConfig | None = None


JUDGES = {
    "anthropic": TypeAdapter(MessageCreateParamsStreaming),
    "openai_chat": TypeAdapter(CompletionCreateParamsStreaming),
    "openai_responses": TypeAdapter(ResponseCreateParamsStreaming),
    "gemini": TypeAdapter(Gemini),
    "mistral": TypeAdapter(ChatCompletionStreamRequest),
}


def plain(value):
    """What was understood, as plain JSON. Lists that are read late are read here, and judged by it."""
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True, exclude_unset=True)
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return [plain(inner) for inner in value]
    return value


def unknown(sent, understood, extensions, path=""):
    """The fields that were sent and that the client's types do not have."""
    if isinstance(sent, dict) and isinstance(understood, dict):
        for key, value in sent.items():
            if key in understood:
                yield from unknown(value, understood[key], extensions, f"{path}.{key}")
            elif value is not None and key not in extensions:
                yield f"{path}.{key} is unknown"
    elif isinstance(sent, list) and isinstance(understood, list):
        for at, (one, other) in enumerate(zip(sent, understood)):
            yield from unknown(one, other, extensions, f"{path}[{at}]")


def faults(judge, body, extensions):
    try:
        understood = plain(JUDGES[judge].validate_python(body))
    except ValidationError as error:
        return [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()[:8]]
    return list(unknown(body, understood, extensions))


judged = 0
for line in sys.stdin:
    request = json.loads(line)
    for fault in faults(request["judge"], request["body"], request.get("extensions", ())):
        print(f"{request['name']}: {fault}")
    judged += 1
print(f"judged {judged}")
