"""The page at the root of the site: sends readers to their language; where scripts do not run, it is a choice."""

from sistolica.languages import LANGUAGES


def root_page(base_url: str = "") -> str:
    """The HTML of the root page; ``base_url`` makes its alternate links absolute."""
    base = f"{base_url.rstrip('/')}/" if base_url else ""
    alternates = "\n".join(
        f'<link rel="alternate" hreflang="{lang.tag}" href="{base}{lang.code}/index.html">' for lang in LANGUAGES
    )
    choices = "\n".join(
        f'<li><a href="{lang.code}/index.html" lang="{lang.tag}" hreflang="{lang.tag}">{lang.name}</a></li>'
        for lang in LANGUAGES
    )
    codes = ", ".join(f'"{lang.code}"' for lang in LANGUAGES)
    return f"""<!doctype html>
<html lang="{LANGUAGES[0].tag}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sistólica</title>
<link rel="icon" href="{LANGUAGES[0].code}/_static/favicon.svg" type="image/svg+xml">
<link rel="canonical" href="{base or "./"}">
{alternates}
<link rel="alternate" hreflang="x-default" href="{base or "./"}">
<style>
:root {{ color-scheme: light dark; }}
body {{ background: Canvas; color: CanvasText; }}
body {{ font: 1.25rem/1.6 system-ui, sans-serif; max-width: 30rem; margin: 15vh auto; padding: 0 1rem; }}
</style>
<script>
// The language chosen before, else the first one of the browser's that the course is written in.
const written = [{codes}];
let chosen = null;
try {{ chosen = localStorage.getItem("sistolica-language"); }} catch {{ }}
const wished = [chosen, ...navigator.languages].filter(Boolean).map((tag) => tag.slice(0, 2).toLowerCase());
location.replace((wished.find((code) => written.includes(code)) || written[0]) + "/index.html" + location.hash);
</script>
</head>
<body>
<main>
<h1>Sistólica</h1>
<ul>
{choices}
</ul>
</main>
</body>
</html>
"""
