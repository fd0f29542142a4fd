"""The house stands: nobody imports from above, and what is heavy is not loaded before it is needed.

The table is that of the design: the numeric core at the bottom, then the engine that decodes, models, lessons,
exercises and classroom, figures, and on top the screen. A new module at the top of ``specdec_core`` counts as numeric
core until it is named in ENGINE here.
"""

import ast
import functools
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "specdec_core"
PAGES = sorted((ROOT / "pages").glob("*.py"))

ENGINE = {"decoding", "runner", "texts", "textlaw"}
TORCH_MODULES = {"models.huggingface", "models.embedded", "models.conversion", "models.llama", "models.llama_files"}
TORCH = {"torch", "transformers", "tokenizers", "safetensors", "gguf", "huggingface_hub", "accelerate", "psutil"}

# layer: (layers of specdec_core it may import, packages of others it may import)
ALLOWED: dict[str, tuple[set[str], set[str]]] = {
    "core": ({"core"}, {"numpy"}),
    "protocol": ({"core"}, {"numpy"}),
    "recorded": ({"core"}, {"numpy"}),
    "engine": ({"core", "protocol", "engine"}, {"numpy"}),
    "models": ({"core", "protocol", "recorded", "models", "torch"}, {"numpy", "huggingface_hub"}),
    "torch": ({"core", "protocol", "models", "torch"}, {"numpy"} | TORCH),
    "lessons": ({"core", "recorded", "lessons"}, {"numpy"}),
    "exercises": ({"core", "recorded", "exercises"}, {"numpy"}),
    "classroom": ({"core", "exercises", "classroom"}, {"numpy", "sqlalchemy", "alembic", "psycopg"}),
    # What a lesson works out is as free of models and screens as the core is.
    "figures": ({"core", "lessons", "figures"}, {"numpy", "plotly"}),
    "command line": (
        {"core", "protocol", "recorded", "engine", "models", "torch", "exercises", "command line"},
        {"numpy"},
    ),
}
BELOW_PAGES = {"core", "protocol", "recorded", "engine", "models", "lessons", "exercises", "classroom", "figures", "ui"}
ALLOWED["ui"] = (BELOW_PAGES | {"torch"}, {"numpy", "pandas", "plotly", "streamlit"})
ALLOWED["pages"] = (BELOW_PAGES, {"numpy", "pandas", "streamlit"})


@functools.cache
def modules() -> dict[str, Path]:
    """Every module of the package by its name without the package's own."""
    found = {}
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        parts = path.relative_to(ROOT / PACKAGE).with_suffix("").parts
        found[".".join(part for part in parts if part != "__init__")] = path
    return found


def layer(module: str) -> str:
    """The layer a module belongs to; a package's ``__init__`` belongs to its package."""
    top = module.split(".")[0]
    if module in ("models.protocol", "models.recorded"):
        return module.split(".")[1]
    if module in TORCH_MODULES:
        return "torch"
    if top in ("models", "lessons", "exercises", "classroom", "figures", "ui"):
        return top
    if top in ("__main__", "cli"):
        return "command line"
    return "engine" if top in ENGINE else "core"


def imports(path: Path, package: str = "") -> set[str]:
    """Full names of all that a file imports, anywhere in it; of ``from a import b`` both a and a.b where a.b is a
    module of ours.
    """
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= _imported_from(node, package)
    return names


def _imported_from(node: ast.ImportFrom, package: str) -> set[str]:
    base = node.module or ""
    if node.level:
        above = package.split(".")[: len(package.split(".")) - node.level + 1]
        base = ".".join([*above, *([base] if base else [])])
    ours = {f"{base}.{alias.name}" for alias in node.names if _own(f"{base}.{alias.name}") in modules()}
    others = len(ours) < len(node.names)
    return ours | ({base} if others else set())


def _own(name: str) -> str | None:
    """``specdec_core.a.b`` without the package's name; None for what is not ours."""
    if name == PACKAGE:
        return ""
    return name.removeprefix(PACKAGE + ".") if name.startswith(PACKAGE + ".") else None


def breaches(path: Path, name: str, of_layer: str, package: str = "") -> list[str]:
    """What a file imports and must not, one sentence each."""
    layers, packages = ALLOWED[of_layer]
    found = []
    for imported in sorted(imports(path, package)):
        own = _own(imported)
        top = imported.split(".")[0]
        if own is not None:
            if own and layer(own) not in layers:
                found.append(f"{name} ({of_layer}) imports {imported} ({layer(own)})")
        elif top not in sys.stdlib_module_names and top not in packages:
            found.append(f"{name} ({of_layer}) imports {top}")
    return found


def test_no_layer_reaches_up() -> None:
    found: list[str] = []
    for module, path in modules().items():
        name = f"{PACKAGE}.{module}".rstrip(".")
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        found += breaches(path, name, layer(module), package)
    assert not found, "\n".join(found)


@pytest.mark.parametrize("path", [ROOT / "app.py", *PAGES], ids=lambda path: path.stem)
def test_pages_use_the_screen_and_the_core_only(path: Path) -> None:
    assert not breaches(path, path.name, "pages")


def test_no_module_imports_itself_over_others() -> None:
    graph: dict[str, set[str]] = {}
    for module, path in modules().items():
        name = f"{PACKAGE}.{module}".rstrip(".")
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        graph[module] = {own for one in imports(path, package) if (own := _own(one)) in modules() and own != module}
    tuple(TopologicalSorter(graph).static_order())  # raises CycleError, which names the circle


def test_the_checks_see_what_they_should(tmp_path: Path) -> None:
    """Negative control: the same functions report what is forbidden."""
    bad = tmp_path / "bad.py"
    bad.write_text("import numpy\ndef f():\n    import torch.nn\n    from specdec_core.ui import shell\n")
    found = breaches(bad, "bad", "core")
    assert found == ["bad (core) imports specdec_core.ui.shell (ui)", "bad (core) imports torch"]
    assert breaches(bad, "bad", "figures") == [
        "bad (figures) imports specdec_core.ui.shell (ui)",
        "bad (figures) imports torch",
    ]
    bad.write_text("from . import shell\nfrom ..figures.palette import X\n")
    assert imports(bad, "specdec_core.ui") == {"specdec_core.ui.shell", "specdec_core.figures.palette"}


# --- what is loaded --------------------------------------------------------------------------------------------------


def _loaded_after(code: str) -> set[str]:
    """Which of the heavy packages a fresh Python has loaded after running the code."""
    report = "import sys; print(' '.join(x for x in ('torch', 'transformers', 'streamlit') if x in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return set(done.stdout.split("\n")[-2].split())


def _import_all(names: list[str]) -> str:
    return "\n".join(f"import {PACKAGE}.{name}".rstrip(".") for name in names)


def _light(module: str) -> bool:
    """Migrations run inside Alembic only, and the chores of ``testing`` need a Unix."""
    return layer(module) != "torch" and "migrations" not in module and module != "classroom.testing"


def test_below_the_screen_nothing_loads_torch_or_streamlit() -> None:
    assert not _loaded_after(_import_all([m for m in modules() if _light(m) and layer(m) != "ui"]))


def test_the_screen_does_not_load_torch() -> None:
    assert _loaded_after(_import_all([m for m in modules() if _light(m)])) == {"streamlit"}


def test_opening_pages_does_not_load_torch() -> None:
    """Through the app itself, each page once: torch comes when a live model is asked for, not before."""
    others = [f"pages/{page.name}" for page in PAGES if page.stem != "start"]
    code = f"""
from streamlit import config
from streamlit.testing.v1 import AppTest
config.set_option("client.showErrorDetails", "full")
app = AppTest.from_file("app.py", default_timeout=60).run()
assert not app.exception, app.exception[0].message
for page in {others}:
    app.switch_page(page).run()
    assert not app.exception, (page, app.exception[0].message)
"""
    assert _loaded_after(code) == {"streamlit"}


# --- pages -----------------------------------------------------------------------------------------------------------


def _first_statement(path: Path) -> ast.stmt:
    """The first statement that is neither the docstring nor an import."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not is_text and not isinstance(node, ast.Import | ast.ImportFrom):
            return node
    raise AssertionError(f"{path.name} does nothing")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_every_page_begins_with_begin_page(path: Path) -> None:
    first = _first_statement(path)
    value = getattr(first, "value", None)
    assert isinstance(value, ast.Call) and ast.unparse(value.func).split(".")[-1] == "begin_page", ast.unparse(first)
    names = [arg.value for arg in value.args if isinstance(arg, ast.Constant)]
    assert path.stem in names, f"{path.name} must name itself in begin_page()"
