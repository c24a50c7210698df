#!/usr/bin/env python3
"""tools/check_includes finds what points up and what goes in a circle, and names the file, the line and the way round."""
import pathlib
import subprocess
import sys
import tempfile

tool = sys.argv[1]
files = {
    "include/tulle/core/a.hpp": "#pragma once\n#include <tulle/formats/b.hpp>\n",
    "include/tulle/formats/b.hpp": "#include <vector>\n",
    "src/ops/first.hpp": '#include "ops/second.hpp"\n',
    "src/ops/second.hpp": '# include "ops/first.hpp"\n',
    "src/cpu/kernel.cpp": '#include "cuda/kernel.cuh"\n',
    "src/cuda/kernel.cuh": "#include <tulle/core/a.hpp>\n",
    "cli/common/c.hpp": '#include "bench/d.hpp"\n#include <tulle/core/a.hpp>\n',
    "cli/bench/d.hpp": '#include "ops/first.hpp"\n',
    "src/new_folder/one.cpp": "#include <tulle/core/a.hpp>\n",
}
expected = [
    "tulle/core/a.hpp:2: tulle/core is below tulle/formats and must not include tulle/formats/b.hpp",
    "circle: ops/first.hpp -> ops/second.hpp -> ops/first.hpp",
    "cpu/kernel.cpp:1: cpu must not include cuda/kernel.cuh",
    "cli/common/c.hpp:1: cli/common is below cli/bench and must not include cli/bench/d.hpp",
    "cli/bench/d.hpp:1: cli/bench must not include ops/first.hpp",
    "new_folder/one.cpp: its layer 'new_folder' is not in the table",
]
with tempfile.TemporaryDirectory() as folder:
    for name, text in files.items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    done = subprocess.run([sys.executable, "-B", tool, folder], capture_output=True, text=True)
missing = [line for line in expected if line not in done.stdout]
if done.returncode != 1 or missing:
    sys.exit(f"exit status {done.returncode}, said:\n{done.stdout}{done.stderr}\nmissing: {missing}")
