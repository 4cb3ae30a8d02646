"""Which ends of a process are known by their number, and whose memory is it that did not do?"""

from __future__ import annotations

import pytest

from targets.failures import announces_death, is_short_of_memory, names_breakage

ENDED = [
    "internal error: status Failure: RemoteError('Runner failed with exit code: 137')",
    "backend process failed with exit code 139",
    "Process group exited with signal 11",
    "MPI_ABORT was invoked on rank 0",
    "Command '['serve']' returned non-zero exit status 137.",
    "exited with code 134",
    'job failed {"exit_code": 137}',
    "the task failed (ExitCode=139)",
    "child killed by signal 9",
    "exit: signal: 11",
    "terminated with signal number 6",
    "prompt 'x' failed: exit code 137",
    'the prompt: "a b c" made it end with exit code 139',
    "exited on signal 9 (Killed)",
    "caught signal 11",
    "Signal 11 received",
    "code: null, signal: 9",
    "return code -11",
    "could not run this prompt's batch: the engine process died",
    "the inputs' prefill failed: EngineCore encountered an issue",
]
GOES_ON = [
    "signal 9",
    "traffic signal 5 was read",
    "graph compute returned status -1",
    "decode: return status -3",
    "tool failed with exit code 1",
    "exit status 2",
    "exit code: 1370",
    "returned status code 137",
    "signal 9 of 12 was weak",
    "signal to noise ratio 11",
    "status 137",
]
QUOTED = [
    "Failed to parse input at pos 12: the old server crashed, and the child died with exit code 137",
    "Invalid prompt: 'it was the day's last exit code 137'",
    'cannot parse input "job ended with exit code 137, the worker died"',
    '{"type": "json_invalid", "input": "killed by signal 9"}',
    "prompt (`Segmentation fault`) holds a word that is not allowed",
]
SHORT = [
    (
        "CUDA out of memory. Tried to allocate 1.20 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.00 GiB is"
        " free. Process 7 has 78.1 GiB memory in use. If reserved but unallocated memory is large try setting"
        " PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
    ),
    "GPU memory exhausted",
    "Insufficient memory for this request",
    "[metal::malloc] Attempting to allocate 48318382080 bytes which is greater than the maximum allowed buffer size",
]
AWAY_FOR_IT = [
    "Out of memory. The server is recovering",
    "ran out of memory, being respawned",
    "out of memory: retry in 2 s",
    "0/3 nodes are available: 3 Insufficient memory.",
    "The container ran out of memory",
    "worker exited: out of memory",
    "out of memory, restarting",
    "Model failed to load: CUDA out of memory",
    "the process was killed: out of memory",
    "no instance available (insufficient memory)",
    "upstream connect error: GPU memory exhausted",
    "Service Unavailable",
    "failed to allocate a machine",
    "the shared memory is full",
]


@pytest.mark.parametrize("said", ENDED)
def test_the_number_of_a_signal_tells_that_a_process_ended(said: str) -> None:
    assert announces_death(said)
    assert names_breakage(said)


@pytest.mark.parametrize("said", GOES_ON)
def test_other_numbers_are_no_end_of_a_process(said: str) -> None:
    assert not announces_death(said)


@pytest.mark.parametrize("said", QUOTED)
def test_what_a_prompt_says_is_nobodys_claim(said: str) -> None:
    assert not announces_death(said)
    assert not names_breakage(said)


@pytest.mark.parametrize("said", SHORT)
def test_an_engine_tells_of_its_own_memory(said: str) -> None:
    assert is_short_of_memory(said)
    assert not announces_death(said)


@pytest.mark.parametrize("said", AWAY_FOR_IT)
def test_who_is_away_for_want_of_memory_does_not_tell_of_a_request(said: str) -> None:
    assert not is_short_of_memory(said)


def test_memory_that_is_exhausted_is_a_failure_of_the_machine() -> None:
    assert names_breakage("GPU memory exhausted")
    assert names_breakage("memory was exhausted")
