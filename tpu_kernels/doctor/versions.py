"""Versions that do not go together, are too old, or were replaced under a running process."""

from collections.abc import Iterator

from packaging.specifiers import SpecifierSet
from packaging.version import Version

from tpu_kernels.doctor.evidence import Evidence
from tpu_kernels.machine.finding import Finding
from tpu_kernels.phrases import phrase

OLDEST_JAX = "0.8"  # that this library runs on
NEW_PYTHON = "3.12"  # that jax asks for from this version on
NEW_JAX = "0.11"


def find(evidence: Evidence) -> list[Finding]:
    """jax absent or too old, a companion of another version, modules older than what is installed, an old Python."""
    return [*_absent_or_old(evidence), *_pairs(evidence), *_stale(evidence), *_old_python(evidence)]


def _absent_or_old(evidence: Evidence) -> Iterator[Finding]:
    got = evidence.installed.get("jax")
    if got is None:
        yield Finding(
            "jax_absent",
            "error",
            phrase("doctor.jax_absent", python=evidence.python),
            phrase("doctor.jax_absent_cure", package=_package(evidence)),
        )
    elif Version(got) < Version(OLDEST_JAX):
        yield Finding(
            "jax_old",
            "error",
            phrase("doctor.jax_old", got=got, oldest=OLDEST_JAX),
            phrase("doctor.jax_old_cure", package=_package(evidence)),
        )


def _pairs(evidence: Evidence) -> Iterator[Finding]:
    jax = evidence.installed.get("jax", "")
    for name, asked in evidence.asked_by_jax.items():
        got = evidence.installed.get(name)
        if got is None or SpecifierSet(asked).contains(got, prereleases=True):
            continue
        # libtpu without a TPU serves only to compile, which other versions do too.
        harmless = name == "libtpu" and not evidence.attached.has("tpu")
        yield Finding(
            "version_pair",
            "warning" if harmless else "error",
            phrase("doctor.version_pair", jax=jax, name=name, asked=asked, got=got),
            phrase("doctor.version_pair_cure", package=f"{_package(evidence)}=={jax}"),
        )


def _stale(evidence: Evidence) -> Iterator[Finding]:
    for name, running in evidence.imported.items():
        installed = evidence.installed.get(name)
        if installed is not None and Version(installed).public != Version(running).public:
            yield Finding(
                "version_stale",
                "error",
                phrase("doctor.version_stale", name=name, running=running, installed=installed),
                phrase("doctor.version_stale_cure"),
            )


def _old_python(evidence: Evidence) -> Iterator[Finding]:
    if Version(evidence.python) < Version(NEW_PYTHON):
        yield Finding(
            "python_old",
            "note",
            phrase("doctor.python_old", got=evidence.python, jax=NEW_JAX, asked=NEW_PYTHON),
            phrase("doctor.python_old_cure", oldest=OLDEST_JAX),
        )


def _package(evidence: Evidence) -> str:
    """What to ask pip for, with what drives this machine's hardware."""
    if evidence.attached.has("tpu"):
        return "jax[tpu]"
    plugins = [name for name in evidence.installed if name.startswith("jax-cuda")]
    if plugins:
        return f"jax[{plugins[0].split('-')[1]}]"
    return "jax[cuda12]" if evidence.attached.nvidia else "jax"
