"""Is what is kept of an Evidence small, harmless, and enough?"""

from __future__ import annotations

import json
from dataclasses import replace

from fuzzer.evidence import Canary, Evidence, Verdict
from fuzzer.model import Outcome, ProbeSpec, Role
from fuzzer.store import summary
from targets.base import Fault, Health, Reply, ServerError
from targets.scrape import Scrape

SPEC = ProbeSpec(length=9000, output_tokens=32, role=Role.SEARCH, reason="halfway")
REPLY = Reply(sent=True, status=500, headers={"Server": "uvicorn", "Set-Cookie": "session=abc"}, ended_s=1.5)
EVIDENCE = Evidence(spec=SPEC, reply=REPLY, sent_tokens=9000)


def test_health_is_kept_as_spans() -> None:
    polls = (
        *(Health(at_s=float(at), status=200) for at in range(3)),
        Health(at_s=3.0, status=503, detail="dead"),
        *(Health(at_s=float(at), fault=Fault.REFUSED) for at in range(4, 9)),
    )
    kept = summary(replace(EVIDENCE, health_after=polls))["health_after"]
    assert [(span["from_s"], span["to_s"], span["polls"], span["status"], span["fault"]) for span in kept] == [
        (0.0, 2.0, 3, 200, None),
        (3.0, 3.0, 1, 503, None),
        (4.0, 8.0, 5, None, "refused"),
    ]


def test_health_that_flaps_for_an_hour_stays_small_and_keeps_both_ends() -> None:
    polls = tuple(Health(at_s=float(at), status=200 + 303 * (at % 2)) for at in range(3600))
    kept = summary(replace(EVIDENCE, health_during=polls))["health_during"]
    assert len(kept) == 64
    assert (kept[0]["from_s"], kept[-1]["to_s"]) == (0.0, 3599.0)


def test_neither_generated_text_nor_cookies_nor_what_the_server_echoes_of_us_is_kept() -> None:
    ids = ", ".join(str(number) for number in range(5000, 5400))
    body = f'{{"detail":[{{"loc":["body"],"msg":"too long: {ids}","input":"the prompt itself"}}]}}'
    reply = replace(
        REPLY,
        text="what the model said",
        token_ids=(7001, 7002),
        excerpt=body,
        error=ServerError(message='refused {"prompt": "the prompt itself"}', code=500),
    )
    kept = json.dumps(summary(replace(EVIDENCE, reply=reply)))
    for secret in ("what the model said", "7001", "session", "the prompt itself", "5003"):
        assert secret not in kept
    for said in ("too long: [ids]", "uvicorn", "refused"):
        assert said in kept


def test_server_text_is_bounded() -> None:
    long = "x" * 100_000
    reply = replace(REPLY, excerpt=long, fault_text=long, headers={"Server": long}, error=ServerError(message=long))
    polls = (Health(at_s=0.0, status=503, detail=long),)
    assert len(json.dumps(summary(replace(EVIDENCE, reply=reply, health_after=polls)))) < 10_000


def test_what_the_scrapes_prove_is_said_and_their_counters_are_left_out() -> None:
    before = Scrape(at_s=0.0, starts={"": 100.0}, monotone={f"c{n}": 5.0 for n in range(500)}, finished=5.0)
    after = replace(before, at_s=9.0, starts={"": 107.5})
    kept = summary(replace(EVIDENCE, before=before, after=after))
    assert kept["restarted"] == "process start went from 100.00 to 107.50"
    assert kept["went_on"] is False
    assert (kept["before"]["starts"], kept["after"]["starts"]) == ({"": 100.0}, {"": 107.5})
    assert len(json.dumps(kept)) < 2000
    assert summary(replace(EVIDENCE, before=before, after=before))["went_on"] is True


def test_the_verdict_and_the_canary_stand_beside_what_they_rest_on() -> None:
    canary = Canary(ok=False, duration_s=0.2, fault="refused")
    kept = summary(replace(EVIDENCE, canary=canary), Verdict(Outcome.DEATH, "refused after a reset"))
    assert (kept["verdict"]["outcome"], kept["canary"]["fault"]) == ("death", "refused")
    assert kept["reply"]["status"] == 500
