"""What ``sistolica build`` and ``sistolica serve`` do."""

import time

from rich.console import Console
from rich.markup import escape

from sistolica.project import Project
from sistolica.site.build import build
from sistolica.site.serve import rebuild_on_change, start_server
from sistolica.site.settings import BuildError


def build_site(project: Project, console: Console, complaints: Console, base_url: str = "", fresh: bool = False) -> int:
    """Build once and say what happened; the exit status."""
    started = time.monotonic()
    try:
        with console.status("building") as status:
            built = build(project, base_url=base_url, fresh=fresh, report=lambda line: status.update(escape(line)))
    except BuildError as error:
        complaints.print(f"[bold red]error[/] {escape(str(error))}", soft_wrap=True, highlight=False)
        return 1
    elapsed = time.monotonic() - started
    outcome = "built" if built.changed else "nothing changed"
    console.print(f"{outcome} in {elapsed:.1f} s: {built.site}", soft_wrap=True, highlight=False)
    return 0


def serve_site(project: Project, console: Console, complaints: Console, host: str, port: int) -> int:
    """Build, serve until interrupted, rebuild on change; the exit status."""
    if build_site(project, console, complaints):
        return 1
    try:
        server = start_server(project.build / "site", host, port)
    except (OSError, OverflowError) as error:
        cure = f"try another: sistolica serve --port {port + 1 if 0 < port < 65535 else 8000}"
        complaints.print(
            f"[bold red]error[/] cannot listen on {host}:{port}: {getattr(error, 'strerror', error)}; {cure}",
            soft_wrap=True,
            highlight=False,
        )
        return 1
    console.print(f"serving at http://{host}:{port}/  (Ctrl-C stops)", soft_wrap=True, highlight=False)
    try:
        rebuild_on_change(project, lambda: build_site(project, console, complaints))
    except KeyboardInterrupt:
        pass
    finally:
        server.shutdown()
        server.server_close()
    return 0
