"""What is kept of a failure's last words, as the client heard them?"""

from __future__ import annotations

import pytest

from fuzzer.evidence import Canary, Evidence
from fuzzer.model import ProbeSpec, Role
from fuzzer.observe import signature
from targets.base import Fault, Reply, ServerError

SPEC = ProbeSpec(300_000, 32, Role.SEARCH, "halves what is left")
PAGE = "<html>\r\n<head><title>500</title></head><body><center><h1>CUDA &amp; more</h1></center></body></html>"
NO_SONG = Canary(ok=False, duration_s=1.0, status=503, fault="", error="no healthy upstream")


@pytest.mark.parametrize(
    ("reply", "canary", "heard"),
    [
        (Reply(sent=True, status=500, error=ServerError("EngineCore died"), excerpt="{}"), NO_SONG, "EngineCore died"),
        (Reply(sent=True, fault=Fault.RESET, fault_text="peer"), NO_SONG, "reset: peer"),
        (Reply(sent=True, fault=Fault.CUT), NO_SONG, "cut"),
        (Reply(sent=True, status=200, excerpt="odd"), NO_SONG, "no healthy upstream"),
        (Reply(sent=True, status=500, excerpt=PAGE), None, "500 CUDA & more"),
        (Reply(sent=True, status=500, excerpt="x" * 999), None, "x" * 400),
    ],
)
def test_the_servers_message_comes_first_and_a_page_is_read_as_a_reader_sees_it(
    reply: Reply, canary: Canary | None, heard: str
) -> None:
    assert signature(Evidence(SPEC, reply, 300_000, canary=canary)) == heard
