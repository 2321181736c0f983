"""A machine that does not allow namespaces is told what it refused and what opens it."""

import errno

import pytest

from tpu_kernels.bench.tcp import parsed
from tpu_kernels.bench.tcp_refusal import NamespacesRefusedError, refusal
from tpu_kernels.messages import use

OPEN = {"user/max_user_namespaces": "96363", "user/max_net_namespaces": "96363"}


def said(step="namespaces", number=errno.EPERM, *, root=False, **closed):
    settings = OPEN | {name.replace("__", "/"): value for name, value in closed.items()}
    return str(refusal(step, number, root=root, setting=settings.get))


@pytest.mark.parametrize(
    ("closed", "cure"),
    [
        ({"kernel__unprivileged_userns_clone": "0"}, "sudo sysctl kernel.unprivileged_userns_clone=1"),
        (
            {"kernel__apparmor_restrict_unprivileged_userns": "1"},
            "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0",
        ),
        ({"user__max_user_namespaces": "0"}, "sudo sysctl user.max_user_namespaces=1024"),
        ({"user__max_net_namespaces": "0"}, "sudo sysctl user.max_net_namespaces=1024"),
    ],
)
def test_the_switch_that_is_closed_is_named(closed, cure):
    assert said(**closed).endswith(cure)


def test_switches_that_are_open_are_not_blamed():
    assert "sysctl" not in said(
        kernel__unprivileged_userns_clone="1", kernel__apparmor_restrict_unprivileged_userns="0"
    )


def test_a_user_is_sent_to_root_and_root_out_of_its_container():
    assert said().endswith("-m tpu_kernels bench tcp")
    assert said(root=True).endswith("docker run --cap-add SYS_ADMIN")


@pytest.mark.parametrize(("lang", "word"), [("es", "espacios de nombres de usuario"), ("pt", "namespaces de usuário")])
def test_what_is_missing_is_said_in_the_readers_language(lang, word):
    use(lang)
    assert word in said()
    assert "Operation not permitted" in said()


def test_a_kernel_without_veth_is_told_to_load_it():
    assert said("veth", errno.EOPNOTSUPP).endswith("sudo modprobe veth")


def test_a_refusal_of_the_program_below_becomes_an_error():
    with pytest.raises(NamespacesRefusedError, match="paso: veth"):
        parsed({"refused": {"step": "veth", "errno": errno.EPERM}})
