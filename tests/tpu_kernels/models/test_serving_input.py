"""What the simulator refuses, and what it says then."""

from collections.abc import Callable

import pytest

from tpu_kernels import messages
from tpu_kernels.models import serving
from tpu_kernels.models.serving import Request, Session

SPEC = serving.published_replica("gaie_simulator")


def run(*items: object, **changes: object) -> Callable[[], object]:
    settings: dict[str, object] = {"replicas": 2, **changes}
    return lambda: serving.simulate(items, SPEC, serving.RoundRobin(), **settings)  # type: ignore[arg-type]


class Outside:
    def pick(self, request: object, endpoints: object) -> int:
        return 2


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (run(Request(-1.0, 10, 1)), r"arrival.*-1"),
        (run(Request(float("nan"), 10, 1)), "arrival.*nan"),
        (run(Request(0.0, 0, 1)), "prompt_tokens.*0"),
        (run(Request(0.0, True, 1)), "prompt_tokens.*True"),
        (run(Request(0.0, 10, 0)), "output_tokens.*0"),
        (run(Request(0.0, 10, 1.5)), r"output_tokens.*1\.5"),  # type: ignore[arg-type]
        (run(Request(0.0, 10, 1, ((1, 16),))), "16 tokens y el prompt entero 10"),
        (run(Request(0.0, 10, 1, ((-1, 4),))), r"\(-1, 4\)"),
        (run(Request(0.0, 10, 1, ((1, 0),))), r"\(1, 0\)"),
        (run(Request(2.0, 10, 1), Request(1.0, 10, 1)), r"1\.0 s, después de otra que llegó en 2\.0 s"),
        (run(Request(0.0, 44_000, 449)), "44449 tokens.*44448"),
        (run(Session(())), "Session"),
        (run("hello"), "'hello'"),
        (run(replicas=0), "replicas.*0"),
        (run(refresh=-0.1), "refresh.*-0.1"),
        (run(Request(0.0, 10, 1), concurrency=0), "concurrency.*0"),
        (lambda: serving.simulate([Request(0.0, 10, 1)], SPEC, Outside(), replicas=2), "2.*de 0 a 1"),
        (lambda: serving.replica_spec(SPEC.step, kv_tokens=0), "kv_tokens.*0"),
        (lambda: serving.published_replica("mine"), "'mine'.*gaie_simulator"),
        (lambda: serving.published_replica("gaie_simulator", sequences=0), "sequences.*0"),
        (lambda: serving.step_time(base=0, per_prompt_token=1e-5, per_context_token=0), "base.*0"),
        (lambda: serving.step_time(base=1e-13, per_prompt_token=1e-5, per_context_token=0), "1e-13"),
        (lambda: serving.step_time(base=0.01, per_prompt_token=1e-5, per_context_token=-1), "per_context_token.*-1"),
        (lambda: serving.roofline_step("GPT-5", "v5e"), "'GPT-5'.*Qwen3-32B"),
        (lambda: serving.roofline_step("Qwen3-32B", "H100", chips=0), "chips.*0"),
        (lambda: serving.roofline_step("Qwen3-32B", "H100", prefill_rate=-5), "prefill_rate.*-5"),
        (lambda: serving.WeightedScores("llm-d 3"), "llm-d 3"),
        (lambda: serving.WeightedScores(queue=-1), "queue.*-1"),
        (lambda: serving.WeightedScores(queue=0, kv=0, prefix=0), "cero"),
        (lambda: serving.StickyUntilSaturated("bytes"), "bytes"),
        (lambda: serving.StickyUntilSaturated(affinity=80), "affinity.*80"),
        (lambda: serving.StickyUntilSaturated(gap=-1), "gap.*-1"),
        (lambda: serving.SaturationDetector(queue_threshold=0), "queue_threshold.*0"),
        (lambda: serving.index_size(block=0, blocks=1, cap=1), "block.*0"),
        (lambda: serving.saturation_gap(0, 14), "peak_prefill_rate.*0"),
        (lambda: serving.token_load_score(-1), "tokens.*-1"),
        (lambda: serving.block_chain([1, 2], block=0), "block.*0"),
        (lambda: serving.RandomChoice(0.5), "seed.*0.5"),  # type: ignore[arg-type]
        (lambda: serving.table("V99"), "V99.*V6"),
    ],
)
def test_what_cannot_be_is_refused_with_what_was_got(wrong: Callable[[], object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        wrong()


def test_it_says_so_in_portuguese_too() -> None:
    messages.use("pt")
    with pytest.raises(ValueError, match="precisa de 44449 tokens de cache KV"):
        run(Request(0.0, 44_000, 449))()


def test_a_rate_without_a_source_stays_unknown() -> None:
    with pytest.raises(LookupError, match="fp8"):
        serving.roofline_step("Qwen3-32B", "v5e", dtype="fp8")
