"""Serves the small model on loopback, with as much of OpenAI's chat completions as a turn needs.

`python -m tests.real_model.shim` prints its base URL and serves until it is stopped. Standard error has a line for
each answer.
"""

import json
import re
import sys
import time
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from uuid import uuid4

from tests.real_model.model import Completion, SmallModel

PATH = "/v1/chat/completions"


class Shim(ThreadingHTTPServer):
    """An HTTP server on a free port of loopback."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.model = SmallModel()
        self.base_url = f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    """One request: parse, ask the model, shape."""

    def do_POST(self) -> None:
        """Answer, at once or as a stream, or say why not."""
        began_s = time.monotonic()
        try:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, body = self._answer(request)
        except ValueError as error:
            status, body = 400, failure(str(error))
        if body.pop("streamed", False):
            self._send(status, "text/event-stream", b"".join(events(body)))
        else:
            self._send(status, "application/json", json.dumps(body).encode())
        self.log_message("%d after %.1f s: %s", status, time.monotonic() - began_s, body.get("choices", body))

    def _answer(self, request: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        if self.path != PATH:
            return 404, failure(f"There is only {PATH}.")
        answer = shape(request["model"], cast("Shim", self.server).model.complete(request))
        return 200, answer | {"streamed": bool(request.get("stream"))}

    def _send(self, status: int, kind: str, content: bytes) -> None:
        self.send_response_only(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def events(answer: Mapping[str, Any]) -> Iterator[bytes]:
    """A completion as a stream has it: its text word by word, or its call as one piece, then what was used."""
    (choice,) = answer["choices"]
    message = choice["message"]
    calls = [{"index": index, **call} for index, call in enumerate(message.get("tool_calls", ()))]
    words = re.findall(r"\S+\s*", message["content"] or "")
    pieces = [
        {"role": "assistant"},
        *({"content": word} for word in words),
        *([{"tool_calls": calls}] if calls else []),
    ]
    for delta in pieces:
        yield _event(answer, [{"index": 0, "delta": delta, "finish_reason": None}])
    yield _event(answer, [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}])
    yield _event(answer, [], usage=answer["usage"])
    yield b"data: [DONE]\n\n"


def _event(answer: Mapping[str, Any], choices: list[dict[str, Any]], **more: Any) -> bytes:
    head = {key: answer[key] for key in ("id", "created", "model")}
    chunk = {**head, "object": "chat.completion.chunk", "choices": choices, **more}
    return f"data: {json.dumps(chunk)}\n\n".encode()


def shape(model: str, completion: Completion) -> dict[str, Any]:
    """A completion as the protocol has it."""
    message: dict[str, Any] = {"role": "assistant", "content": completion.text}
    if completion.call is not None:
        function = {"name": completion.call["name"], "arguments": json.dumps(completion.call["arguments"])}
        message["tool_calls"] = [{"id": f"call_{uuid4().hex}", "type": "function", "function": function}]
    return {
        "id": f"chatcmpl-{uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": completion.finish_reason}],
        "usage": completion.usage,
    }


def failure(words: str) -> dict[str, Any]:
    """An error as the protocol has it."""
    return {"error": {"message": words, "type": "invalid_request_error", "param": None, "code": None}}


def main() -> None:
    """Serve until the process is stopped."""
    with Shim() as shim:
        sys.stdout.write(f"{shim.base_url}\n")
        sys.stdout.flush()
        shim.serve_forever()


if __name__ == "__main__":
    main()
