"""Every fenced block of README.md, run as it stands: Python in one session, the shell in a new virtual environment."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from conftest import NANO, ROOT
from media_files import PHOTO

README = (ROOT / "python" / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.M | re.S)


def test_every_block_is_of_a_kind_that_runs():
    assert {language for language, _ in BLOCKS} == {"python", "sh"} and README.count("```") == 2 * len(BLOCKS)


@pytest.mark.parametrize("readme", ["python/README.md", "README.md"])
def test_python_blocks(tmp_path, readme):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "nano-text.safetensors").symlink_to(NANO)
    (tmp_path / "photo.jpg").symlink_to(PHOTO)
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / readme).read_text(encoding="utf-8"), re.M | re.S)
    assert blocks
    program = "\n".join(blocks)
    done = subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif("UFORM_TEST_INSTALL" not in os.environ, reason="UFORM_TEST_INSTALL names no library to link")
def test_shell_blocks(tmp_path):
    """The commands themselves, linking the library that is built: SKBUILD_CMAKE_DEFINE says where to pip's build."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    environment = os.environ | {
        "PATH": f"{tmp_path / 'venv' / 'bin'}:{os.environ['PATH']}", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "SKBUILD_CMAKE_DEFINE": f"UFORM_LIBRARY_DIR={os.environ['UFORM_TEST_INSTALL']}"}
    for language, code in BLOCKS:
        if language == "sh":
            done = subprocess.run(["bash", "-ec", code], cwd=ROOT, env=environment, capture_output=True, text=True)
            assert done.returncode == 0, done.stdout + done.stderr
    python = pathlib.Path(environment["PATH"].split(":")[0]) / "python"
    told = subprocess.run([python, "-c", "import uform.search; print(uform.__version__)"], cwd=tmp_path, text=True,
                          capture_output=True)
    assert told.stdout == "4.0.0\n", told.stderr
