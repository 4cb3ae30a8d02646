"""Do an answer's words speak of a death, of a failure of the machine, or of a length?"""

from __future__ import annotations

import pytest

from fuzzer.outcome.wording import (
    SHOWN_CHARS,
    is_in_nobodys_words,
    names_one_of,
    refuses_by_failure,
    says_dead,
    tells_of_length,
    words,
)
from targets.base import Reply, ServerError

DEATHS = [
    "EngineCore encountered an issue. See stack trace (above) for the root cause.",
    "Engine core process is dead",
    "engine has died",
    "CUDA error: an illegal memory access was encountered",
    "model runner has unexpectedly stopped, this may be due to resource limitations or an internal error",
    "llama runner process has terminated: exit status 2",
    "llama runner process no longer running: -1",
    "The model has crashed without additional information. (Exit code: 18446744072635812000)",
    "The actor died unexpectedly before finishing this task.",
    "The actor is dead because its worker process has died.",
    "Worker unexpectedly exits with a connection error code 2",
    "worker exited",
    "upstream connect error or disconnect/reset before headers. reset reason: connection termination",
    "Failed to process the request(s), message: Stub process 'model_0_0' is not healthy.",
    "rpc error: code = Unavailable desc = error reading from server: EOF",
    "Scheduler process died",
    "[plugin] Connection Error, ('Connection aborted.', RemoteDisconnected('Remote end closed connection'))",
    "HTTPConnectionPool(host='engine', port=8000): Max retries exceeded with url: /v1/completions",
    "read ECONNRESET",
    'POST predict: Post "http://127.0.0.1:39561/completion": EOF',
    "an error was encountered while running the model: unexpected EOF",
    "[address=0.0.0.0:41871, pid=812] Remote server 0.0.0.0:41871 closed",
    "Server disconnected without sending a response.",
    "peer closed connection without sending complete message body (incomplete chunked read)",
    "read tcp 127.0.0.1:5->127.0.0.1:6: wsarecv: An existing connection was forcibly closed by the remote host.",
    "write tcp 127.0.0.1:5->127.0.0.1:6: write: broken pipe",
    "Response payload is not completed: <TransferEncodingError>",
    "Cannot connect to host 10.0.0.1:8000 ssl:default [Connect call failed]",
    "error sending request for url (http://10.0.0.1:8000/v1/completions)",
    "connection closed before message completed",
    "Connection prematurely closed BEFORE response",
    "Background loop has errored already.",
    "Engine loop is not running. Inspect the stacktrace to find the original error",
    "no responders: no responders",
    "vk::DeviceLostError",
    "Channel Error",
    "Model unloaded.",
    "MQLLMEngine is dead",
    "upstream command exited prematurely",
    "function was terminated by signal SIGABRT",
    "Task exited with return code -9",
    "OOMKilled",
    "GGML_ASSERT(x) failed",
]
FAILURES = [
    "CUDA out of memory. Tried to allocate 2.00 GiB",
    "HIP out of memory",
    "OOM when allocating a tensor",
    "Out of range float values are not JSON compliant: nan",
    "probability tensor contains either inf or nan",
    "Internal Server Error",
    "AssertionError",
    "Traceback (most recent call last)",
    "NCCL timeout",
    "clFlush, error code: -5 CL_OUT_OF_RESOURCES",
    "index out of range in self",
]
LENGTHS = [
    "Input too big",
    "too many tokens",
    "the sequence is longer than ours",
    "maximum of 4096",
    "prompt exceeds what we take",
    "it does not fit the context",
    "List should have at most 7999 items",
    "zu lang",
    "La requête dépasse ce qui est permis",
    "demasiado largo",
    "слишком много",
    "输入过长",
    "長すぎます",
    "길이 초과",
]
ALIVE = [
    "failed to parse request body: unexpected EOF",
    "rpc error: code = Unavailable desc = queue full",
    "the process takes at most 4096 tokens",
    "the pod has 2 containers",
    "the model is running",
    "could not connect the dots",
    "failed to forward the batch",
]
GUESSES = [
    "Completion 8c1f2 aborted. Maybe the model was unloaded? Please check the server console.",
    "No answer: was the model unloaded?",
    "Perhaps the engine has died",
    "It may be that the worker exited, or that it is slow",
    "See whether the container was killed.",
    "If the server was terminated, start it again",
    "It might have happened that the process died.",
    "possibly a CUDA error",
    '{"detail": "was the model unloaded?"}',
    "It may be that the worker crashed when it ran out of room",
    "Request failed, possibly because the engine died",
    "This may be because the model server is not running",
    "Perhaps the model is not loaded, or the engine is dead",
    "If the request is too long, or the engine has died, retry",
    "No answer (engine dead?)",
    "Maybe, the engine died",
]
KNOWN_OF_UNKNOWN_CAUSE = [
    "The worker died. Maybe it was out of memory?",
    "Maybe it is slow: the engine has died",
    "Perhaps the model was unloaded. The worker died.",
    "CUDA error: device-side assert, kernel errors might be reported late",
    "the engine died, see whether it was killed by somebody",
    "llama runner process has terminated (out of memory?)",
    "The worker died, OOM?",
    "the model server has crashed - out of memory?",
    "worker exited with code -9 (killed?)",
    "engine died, see /debug/crash?id=12",
    "Results may be incomplete because the model server crashed",
    "The request may have been lost since the worker died",
    "Retry if possible, the engine has died",
    "Most likely out of memory, the runner process has terminated",
]
NEITHER = ["nope", "Bad Request", "temperature must be non-negative", "Token id 7 is out of vocabulary", ""]


def said(message: str, kind: str | None = None) -> Reply:
    return Reply(True, 400, error=ServerError(message, kind))


@pytest.mark.parametrize("message", DEATHS)
def test_the_words_of_a_death_are_known(message: str) -> None:
    assert says_dead(said(message))
    assert says_dead(Reply(True, 500, excerpt=message))
    assert refuses_by_failure(said(message))


@pytest.mark.parametrize("message", FAILURES)
def test_a_failure_of_the_machine_is_no_refusal_and_no_death(message: str) -> None:
    assert refuses_by_failure(said(message))
    assert not says_dead(said(message))


@pytest.mark.parametrize("message", ALIVE)
def test_words_of_who_lives_are_no_death(message: str) -> None:
    assert not says_dead(said(message))


@pytest.mark.parametrize("message", GUESSES)
def test_who_wonders_whether_it_died_claims_no_death(message: str) -> None:
    assert not says_dead(said(message))
    assert refuses_by_failure(said(message)), "and refuses nothing for its length"


@pytest.mark.parametrize("message", KNOWN_OF_UNKNOWN_CAUSE)
def test_who_wonders_of_what_it_died_claims_a_death(message: str) -> None:
    assert says_dead(said(message))


def test_a_type_may_tell_of_the_failure() -> None:
    assert refuses_by_failure(said("", "InternalServerError"))
    assert not refuses_by_failure(said("", "BadRequestError"))


@pytest.mark.parametrize("message", LENGTHS)
def test_words_about_a_length_are_about_no_failure(message: str) -> None:
    assert tells_of_length(said(message))
    assert not refuses_by_failure(said(message))


@pytest.mark.parametrize("message", NEITHER)
def test_other_words_are_about_neither(message: str) -> None:
    assert not tells_of_length(said(message))
    assert not refuses_by_failure(said(message))


@pytest.mark.parametrize(
    ("message", "nobodys"),
    [("", True), ("Internal Server Error", True), ("error", True), ("IndexError", False), ("CUDA error", False)],
)
def test_words_that_say_no_more_than_that_it_failed_are_nobodys(message: str, nobodys: bool) -> None:
    assert is_in_nobodys_words(said(message)) is nobodys
    assert is_in_nobodys_words(Reply(True, 500, excerpt=message))


def test_a_number_of_ours_is_told_from_a_part_of_another() -> None:
    assert names_one_of(said("got 9001, have 9000"), {9001, 9033})
    assert not names_one_of(said("id 190012"), {9001})


def test_what_is_shown_is_short_and_without_markup() -> None:
    assert words(Reply(True, 403, excerpt="<html>\n<h1>403\n Forbidden</h1>" + " x" * 999)).startswith(
        "403 Forbidden x"
    )
    assert len(words(said("long " * 999))) <= SHOWN_CHARS
    assert words(Reply(True, 419)) == ""
