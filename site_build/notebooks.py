"""Runs the notebooks of the documentation: to check that they print what stands in them, or to renew it.

python -m site_build.notebooks          # check
python -m site_build.notebooks --renew  # run them and write what they print
"""

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import nbclient
import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager

from site_build.links import ROOT
from site_build.notebook_page import read
from site_build.same import differences

FOLDER = ROOT / "docs/notebooks"
_BAR = "<IPython.core.display.HTML object>"
_SETTING = re.compile(r"^(?P<name>\w+) = .*$", re.MULTILINE)


def notebooks() -> list[Path]:
    """The notebooks of the documentation."""
    return sorted(FOLDER.glob("*.ipynb"))


def executed(path: Path, parameters: Mapping[str, object] | None = None) -> Any:
    """Run a notebook in a kernel of its own.

    Args:
        path: The notebook.
        parameters: Other values for names in its cells tagged ``parameters``.

    Returns:
        The notebook with what its cells printed and drew; progress bars are left out.
    """
    notebook = read(path)
    for cell in notebook.cells:
        if parameters and "parameters" in cell.metadata.get("tags", ()):
            cell.source = _SETTING.sub(lambda line: f"{line['name']} = {parameters[line['name']]!r}", cell.source)
    with tempfile.TemporaryDirectory() as kernels:
        manager = AsyncKernelManager(
            kernel_name=_kernel(Path(kernels)),
            kernel_spec_manager=KernelSpecManager(kernel_dirs=[kernels]),
        )
        where = {"metadata": {"path": str(path.parent)}}
        nbclient.NotebookClient(notebook, km=manager, timeout=900, resources=where).execute()
    return _tidy(notebook)


def _kernel(folder: Path) -> str:
    """Describe a kernel of this very environment, whatever kernels the user has; return its name."""
    (folder / "this").mkdir()
    command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=ERROR"]
    described = {"argv": command, "display_name": "this", "language": "python"}
    (folder / "this/kernel.json").write_text(json.dumps(described))
    return "this"


def _tidy(notebook: Any) -> Any:
    """A notebook without what differs from run to run."""
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook.metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    for number, cell in enumerate(notebook.cells):
        cell.id = f"cell-{number}"
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = _joined([_plain(one) for one in cell.outputs if not _is_bar(one)])
    return notebook


def _joined(outputs: list[Any]) -> list[Any]:
    """Outputs in which what a cell prints is one text, however it came."""
    found: list[Any] = []
    for output in outputs:
        last = found[-1] if found else None
        if last is not None and output.output_type == "stream" and last.get("name") == output.name:
            last.text += output.text
        else:
            found.append(output)
    return found


def _is_bar(output: Any) -> bool:
    return bool(output.output_type == "display_data" and output.data.get("text/plain") == _BAR)


def _plain(output: Any) -> Any:
    if output.output_type == "execute_result":
        output.execution_count = None
    if "image/svg+xml" in output.get("data", {}) or "image/png" in output.get("data", {}):
        output.data["text/plain"] = "picture"
    return output


def printed(notebook: Any) -> list[str]:
    """What each cell prints, the kinds of its pictures included."""
    return ["".join(_texts(cell.outputs)) for cell in notebook.cells if cell.cell_type == "code"]


def _texts(outputs: Sequence[Any]) -> Iterator[str]:
    for output in outputs:
        if output.output_type == "stream":
            yield output.text
        else:
            yield " ".join(sorted(output.data)) + "\n" if len(output.data) > 1 else output.data["text/plain"] + "\n"


def changes(path: Path, now: Any) -> list[str]:
    """How what a notebook prints now differs from what stands in it, one line for each difference."""
    return [
        f"{path.name}, code cell {number}: {line}"
        for number, (old, new) in enumerate(zip(printed(read(path)), printed(now), strict=True), 1)
        for line in differences(old, new)
    ]


def main() -> None:
    """Check or renew the notebooks that are named, by default all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebook", nargs="*", type=Path, default=notebooks())
    parser.add_argument("--renew", action="store_true", help="write what they print")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="another value of a parameter")
    parser.add_argument("--output", type=Path, metavar="FOLDER", help="write what they print there, and check nothing")
    asked = parser.parse_args()
    parameters = {name: json.loads(value) for name, value in (one.split("=", 1) for one in asked.set)}
    wrong: list[str] = []
    for path in asked.notebook:
        begun = time.monotonic()
        now = executed(path, parameters)
        if asked.output or asked.renew:
            target = asked.output / path.name if asked.output else path
            nbformat.write(now, target)  # type: ignore[no-untyped-call]
        else:
            wrong += changes(path, now)
        sys.stderr.write(f"{path.name}: {time.monotonic() - begun:.0f} s\n")
    sys.exit("\n".join([*wrong, "make docs-renew writes what they print now"]) if wrong else None)


if __name__ == "__main__":
    main()
