"""The report: worst first, each cause once, the same for people and for programs."""

import json
from dataclasses import replace

import jax
import pytest

from tpu_kernels import doctor, messages
from tpu_kernels.doctor.diagnosis import diagnose
from tpu_kernels.doctor.probe import Failure
from tpu_kernels.doctor.text import WIDTH
from tpu_kernels.machine.place import Place

DIED = Failure("aborted", "Check failed: something")


def kinds(report) -> list[str]:
    return [finding.kind for finding in report.findings]


@pytest.fixture
def ill(evidence):
    """A machine with an error, a warning and two notes, found in another order."""
    return evidence(
        environ={},
        python="3.11.7",
        expected_devices=8,
        installed={"jax": "0.10.2", "jaxlib": "0.10.2", "libtpu": "0.0.50.1"},
    )


def test_a_sound_machine_needs_nothing(evidence) -> None:
    report = diagnose(evidence())
    assert (report.findings, report.exit_status) == ((), 0)
    assert repr(report).endswith("\n\nTodo en orden: ningún error, ningún aviso.")


def test_the_worst_comes_first(ill) -> None:
    report = diagnose(ill)
    assert kinds(report) == ["devices_few", "version_pair", "python_old", "cpu_only", "libtpu_noise"]
    assert report.exit_status == 1


def test_a_warning_alone_leaves_the_status_at_zero(evidence) -> None:
    report = diagnose(evidence(threads=2, environ={"XLA_FLAGS": "--xla_force_host_platform_device_count=8"}))
    assert [finding.severity for finding in report.findings] == ["warning", "note"]
    assert report.exit_status == 0
    assert repr(report).endswith("Errores: 0. Avisos: 1.")


@pytest.mark.parametrize(
    ("failure", "kind", "said"),
    [
        (DIED, "jax_aborts", "Check failed: something"),
        (Failure("raised", "RuntimeError: no"), "jax_fails", "RuntimeError: no"),
        (Failure("timed_out", "120 s"), "jax_hangs", "120 s"),
    ],
)
def test_a_failure_that_nobody_explains_is_told_in_its_own_words(evidence, failure, kind: str, said: str) -> None:
    report = diagnose(evidence(jax=failure))
    assert kinds(report) == [kind]
    assert said in report.findings[0].message
    assert report.exit_status == 1


@pytest.mark.parametrize(
    "spoilt",
    [
        {"jax": Failure("aborted", "Unknown flag in XLA_FLAGS: --x")},
        {
            "jax": Failure("raised", "RuntimeError: jaxlib is version"),
            "installed": {"jax": "0.10.2", "jaxlib": "0.9.0"},
        },
        {"jax": Failure("raised", "RuntimeError: 'tpu': no device"), "environ": {"JAX_PLATFORMS": "tpu"}},
    ],
)
def test_a_failure_that_is_explained_is_told_once(evidence, spoilt) -> None:
    assert len(diagnose(evidence(**spoilt)).findings) == 1


def test_what_is_no_cause_does_not_hide_why_jax_fails(evidence) -> None:
    report = diagnose(evidence(jax=DIED, python="3.11.7", torch_xla_failure=Failure("raised", "ImportError: x")))
    assert kinds(report) == ["jax_aborts", "torch_pair", "python_old"]


def test_the_text_has_each_finding_with_its_cure(ill) -> None:
    text = " ".join(repr(diagnose(ill)).split())
    for finding in diagnose(ill).findings:
        assert finding.message in text
        assert finding.cure in text
    assert text.endswith("Errores: 1. Avisos: 1.")


@pytest.mark.parametrize("lang", messages.LANGUAGES)
def test_the_text_keeps_to_its_width(ill, lang: str) -> None:
    messages.use(lang)
    assert max(map(len, repr(diagnose(ill)).splitlines())) <= WIDTH


def test_the_facts_are_what_a_helper_asks_first(evidence) -> None:
    assert diagnose(evidence("tpu", place="tpu_vm")).facts() == [
        ("Dónde", "máquina con TPU"),
        ("jax usa", "tpu × 1."),
        ("matmul con", "porque sí"),
        ("Versiones", "Python 3.12.0, jax 0.10.2, jaxlib 0.10.2, numpy 2.4.6"),
    ]


def test_kernels_that_cannot_be_loaded_leave_no_plan(evidence, seen) -> None:
    report = diagnose(evidence(jax=replace(seen(), matmul=None, kernels_failure="No module named 'absl'")))
    assert kinds(report) == ["kernels_fail"]
    assert "No module named 'absl'" in report.findings[0].message
    assert "matmul con" not in dict(report.facts())
    assert report.to_dict()["jax"]["matmul"] is None


def test_a_jax_that_did_not_start_uses_nothing(evidence) -> None:
    assert diagnose(evidence(jax=DIED)).facts()[1:2] == [("jax usa", "no arrancó; la causa está abajo")]


@pytest.mark.parametrize("lang", messages.LANGUAGES)
@pytest.mark.parametrize("place", ["colab", "kaggle", "tpu_vm", "gpu_machine", "machine"])
def test_every_place_has_a_name(evidence, place: Place, lang: str) -> None:
    messages.use(lang)
    assert place not in dict(diagnose(evidence(place=place)).facts()).values()


def test_a_program_gets_the_same_as_data(ill) -> None:
    report = diagnose(ill)
    data = json.loads(json.dumps(report.to_dict()))
    assert list(data) == [
        *("schema", "language", "exit_status", "place", "attached", "python", "versions", "environment", "jax"),
        "findings",
    ]
    assert (data["schema"], data["language"], data["exit_status"]) == (1, "es", 1)
    assert data["attached"] == {"tpu_chips": 0, "nvidia": False, "amd": False}
    assert data["versions"]["libtpu"] == "0.0.50.1"
    assert data["versions"]["torch"] is None
    assert data["jax"] == {
        "platform": "cpu",
        "count": 1,
        "kind": "cpu",
        "chip": None,
        "compute_capability": None,
        "described": "cpu × 1.",
        "x64": True,
        "matmul": {"implementation": "xla", "why": "porque sí"},
        "kernels_failure": None,
    }
    assert [finding["kind"] for finding in data["findings"]] == kinds(report)
    assert set(data["findings"][0]) == {"kind", "severity", "message", "cure"}


def test_the_data_hold_no_more_of_the_environment_than_jax_reads(evidence) -> None:
    environ = {"JAX_PLATFORMS": "cpu", "TOKEN": "secret"}
    assert diagnose(evidence(environ=environ)).to_dict()["environment"] == {"JAX_PLATFORMS": "cpu"}


def test_a_jax_that_did_not_start_is_null(evidence) -> None:
    assert diagnose(evidence(jax=DIED)).to_dict()["jax"] is None


@pytest.mark.parametrize("lang", messages.LANGUAGES)
def test_the_report_is_in_the_language_in_force(ill, lang: str) -> None:
    messages.use(lang)
    report = diagnose(ill)
    assert report.to_dict()["language"] == lang
    assert (report.facts()[0][0] == "Onde") == (lang == "pt")


def test_a_notebook_where_jax_runs_is_told_of_that_jax() -> None:
    """In this process jax has eight devices; another process would see one."""
    jax.devices()
    report = doctor.report(expect_devices=8)
    assert report.evidence.jax_started
    assert report.evidence.sight is not None
    assert report.evidence.sight.here.count == 8
    assert "devices_few" not in kinds(report)


def test_evidence_is_not_changed_by_looking_at_it(ill) -> None:
    assert diagnose(ill) == diagnose(replace(ill))
