"""Are the words of an answer kept without the secrets in them, and what it is judged by to the letter?"""

from __future__ import annotations

import json

from fuzzer.heard import heard
from targets.base import Fault, Reply, ServerError

SIGNED = "https://b.s3.amazonaws.com/m?X-Amz-Signature=deadbeef99"


def test_a_secret_in_the_words_of_an_error_is_masked_before_anything_is_made_of_them() -> None:
    error = ServerError(f"no answer of redis://cache:pw-7391@r:6379, {SIGNED}", "HF_TOKEN=hf_AbCdEfGhIjKl", 500, "x")
    seen = heard(Reply(sent=True, error=error, excerpt=f"bad {SIGNED}", fault=Fault.CUT, fault_text="api_key='abc'"))
    assert seen.error == ServerError(
        "no answer of redis://***@r:6379, https://b.s3.amazonaws.com/m?X-Amz-Signature=***", "HF_TOKEN=***", 500, "x"
    )
    assert (seen.excerpt, seen.fault_text) == ("bad https://b.s3.amazonaws.com/m?X-Amz-Signature=***", "api_key='***'")


def test_what_an_answer_is_judged_by_stays() -> None:
    message = (
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (max_tokens=904). "
        'Please reduce the length. (parameter=input_tokens, value=4097), token_ids=[1, 2], "key": "layers.0"'
    )
    body = json.dumps({"error": {"message": message, "type": "BadRequestError", "param": "input_tokens", "code": 400}})
    reply = Reply(
        sent=True,
        error=ServerError(message, "BadRequestError", 400, "input_tokens"),
        excerpt=body,
        text="password=of-the-model",
        headers={"x-api-key": "abc"},
    )
    assert heard(reply) == reply
    well = Reply(sent=True, text="api_key='abc'")
    assert heard(well) is well
