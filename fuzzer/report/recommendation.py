"""How is a cap written down where it takes effect? PURE: the engine's flag, an environment, Helm values, a LiteLLM
config that keeps the drafter for what is short enough, JSON.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from fuzzer.report.plain import plain
from targets.table import DIALECTS, OPENAI

if TYPE_CHECKING:
    from fuzzer.finding import Finding
    from fuzzer.store import Run

Format = Literal["flags", "env", "helm", "litellm", "json"]
SCHEMA: Final = "ctxfuzz.recommendation/1"
VARIABLES: Final = {
    "llamacpp": "LLAMA_ARG_CTX_SIZE",
    "tgi": "MAX_TOTAL_TOKENS",
    "ollama": "OLLAMA_CONTEXT_LENGTH",
}
STEPS: Final = {name: traits.limit_step for name, traits in DIALECTS.items()}
PLACEHOLDER: Final = "http://without-drafter.example:8000"


def settable(engine: str, cap: int) -> int | None:
    """The most that the engine can be set to without admitting more than `cap`, in tokens; None where there is no such
    setting. Never 0 or less: engines take that for the model's own whole window.
    """
    step = STEPS.get(engine, 1)
    held = cap // step * step
    return held if held > 0 and flag_of(engine) else None


def unsettable(engine: str, cap: int) -> str:
    """Why there is no such setting, and what to do."""
    if not flag_of(engine):
        why = "has no setting that turns longer requests away"
    elif (step := STEPS.get(engine, 1)) > 1:
        why = f"holds {step} tokens at least, in steps of {step}"
    else:
        why = "can be set to one token at least"
    return f"none: {plain(engine)} {why}, so a cap of {cap} must be kept by what is before it"


def flag_of(engine: str) -> str:
    """The engine's flag that sets the cap; empty where it has none."""
    return DIALECTS.get(engine, OPENAI).limit_flag


def setting(engine: str, held: int) -> str:
    """How the engine is set to hold so many tokens, which must be `settable`."""
    flag = flag_of(engine)
    if flag.startswith("-"):
        return f"{flag} {held}"
    return f"{flag}={held}" if flag == VARIABLES.get(engine) else f"{flag}: {held}"


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A cap, in tokens, as the engine can be set to. `without`: where the same model is served without the drafter."""

    run: str
    url: str
    model: str
    engine: str
    cap: int
    output_tokens: int
    without: str | None = None

    @classmethod
    def of(cls, run: Run, cap: int, without: str | None) -> Recommendation | None:
        """The cap of a run, rounded down to what the engine can hold to; None where there is no such setting."""
        record = run.record
        held = settable(record.engine, cap)
        if held is None:
            return None
        asked = record.question.get("output_tokens")
        output = asked if isinstance(asked, int) else 0
        return cls(run.run, record.url, record.model, record.engine, held, output, without)

    @property
    def flag(self) -> str:
        return flag_of(self.engine)

    @property
    def longest_input(self) -> int:
        """The longest prompt that leaves room for the output that the run asked for, in tokens."""
        return max(1, self.cap - self.output_tokens)


def written(told: Recommendation, finding: Finding, kind: Format) -> str:
    """The recommendation as text that can be put where it belongs."""
    match kind:
        case "flags":
            return setting(told.engine, told.cap)
        case "env":
            return _env(told)
        case "helm":
            return _helm(told)
        case "litellm":
            return _litellm(told)
        case "json":
            return json.dumps(_object(told, finding))


def _env(told: Recommendation) -> str:
    variable = VARIABLES.get(told.engine)
    if variable is not None:
        return f"{variable}={told.cap}"
    lead = f"# {plain(told.engine)} reads no variable for this"
    if not told.flag.startswith("-"):
        return f"{lead}. {setting(told.engine, told.cap)}"
    return f"{lead}: start it with {told.flag} $MAX_MODEL_LEN\nMAX_MODEL_LEN={told.cap}"


def _helm(told: Recommendation) -> str:
    lead = f"# ctxfuzz run {told.run}: no prompt and output above {told.cap} tokens together."
    if told.engine == "vllm":
        return f"""{lead}
# Values of the vLLM production stack; keep what else your modelSpec has.
servingEngineSpec:
  modelSpec:
    - name: {_quoted(told.model)}
      vllmConfig:
        maxModelLen: {told.cap}"""
    if told.flag == VARIABLES.get(told.engine):
        return f"""{lead}
# Where the values of your chart hold the engine's environment.
extraEnv:
  - name: {_quoted(told.flag)}
    value: {_quoted(str(told.cap))}"""
    if not told.flag.startswith("-"):
        return f"{lead}\n# {plain(told.engine)} takes no argument for this. {setting(told.engine, told.cap)}"
    return f"""{lead}
# Where the values of your chart hold the engine's arguments.
extraArgs:
  - {_quoted(told.flag)}
  - {_quoted(str(told.cap))}"""


def _litellm(told: Recommendation) -> str:
    without = told.without or PLACEHOLDER
    todo = "" if told.without else "  # put the endpoint without the drafter here"
    name = _quoted(told.model)
    long = _quoted(f"{told.model}-without-drafter")
    served = _quoted(f"hosted_vllm/{told.model}")
    return f"""# ctxfuzz run {told.run}: up to {told.longest_input} prompt tokens with the drafter, above without.
# LiteLLM counts a prompt with its own tokenizer and routes by that before it calls (enable_pre_call_checks).
# Where it counts too few, the engine with the drafter refuses by its own count, and LiteLLM then goes to the other
# (context_window_fallbacks; but a streamed text completion gets the refusal). So the cap must be in force as well:
#   {setting(told.engine, told.cap)}
model_list:
  - model_name: {name}
    litellm_params:
      model: {served}
      api_base: {_quoted(_v1(told.url))}
      api_key: os.environ/ENGINE_API_KEY
    model_info:
      max_input_tokens: {told.longest_input}
  - model_name: {long}
    litellm_params:
      model: {served}
      api_base: {_quoted(_v1(without))}{todo}
      api_key: os.environ/ENGINE_API_KEY
router_settings:
  enable_pre_call_checks: true
  context_window_fallbacks:
    - {name}: [{long}]"""


def _object(told: Recommendation, finding: Finding) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        **asdict(told),
        "flag": told.flag,
        "longest_input": told.longest_input,
        "finding": finding.kind.value,
        "confidence": asdict(finding.confidence),
        "assumes": list(finding.assumes),
    }


def _v1(url: str) -> str:
    return url if url.rstrip("/").endswith("/v1") else f"{url.rstrip('/')}/v1"


def _quoted(text: str) -> str:
    """A YAML scalar: a JSON string is one."""
    return json.dumps(text)
