#!/usr/bin/env python3
"""Every public header compiles alone, and use.cpp, which uses them, with a compiler's strictest warnings as errors. Whether
a header of C++ needs another one first is the same for all compilers: gnu tries each alone, clang all in one file.
usage: headers.py KIND COMPILER SOURCE BUILD, KIND being gnu, clang or nvcc"""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

kind, compiler, source, build = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4])
GNU = """-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wdouble-promotion -Wold-style-cast -Wuseless-cast
-Wcast-align -Wcast-qual -Wformat=2 -Wnon-virtual-dtor -Woverloaded-virtual -Wnull-dereference -Wundef -Werror""".split()
FLAGS = {
    "gnu": ["-std=c++20", "-fsyntax-only", *GNU],
    # Left out is what asks for other languages than C++20, for padding to be spelt out, or for what the library holds
    # (destructors, instances of templates) to be in the headers.
    "clang": ["-std=c++20", "-fsyntax-only", "-Weverything", "-Werror", "-Wno-c++98-compat", "-Wno-c++98-compat-pedantic",
              "-Wno-pre-c++20-compat-pedantic", "-Wno-c++20-compat", "-Wno-padded", "-Wno-weak-vtables",
              "-Wno-undefined-func-template", "-Wno-unknown-warning-option"],
    "nvcc": ["-std=c++20", "--cuda", "-o", os.devnull, "-x", "cu", "-Xcompiler=-Wall,-Wextra,-Werror", "-Werror=all-warnings"],
}
C = {"gnu": ["-std=c99", "-fsyntax-only", "-x", "c", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]}
C["clang"] = ["-std=c99", "-fsyntax-only", "-x", "c", "-Weverything", "-Wno-padded", "-Werror"]


def problem(name, flags, text=None):
    """What the compiler says against the file `name`, or against the text, which is read from standard input."""
    command = [compiler, *flags, f"-I{source / 'include'}", f"-I{build / 'include'}", "-" if text else str(name)]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    said = (done.stdout + done.stderr).strip()
    return f"{name}: {' '.join(command)}\n{said}" if done.returncode or said else ""


jobs = [(source / "tests/packaging/use.cpp", FLAGS[kind])]
if kind != "nvcc":
    names = [path.relative_to(source / "include").as_posix() for path in sorted((source / "include").rglob("*.h*"))]
    twice = {name: f"#include <{name}>\n#include <{name}>\n" for name in names}
    of_cpp = [name for name in names if name.endswith(".hpp")]
    jobs += [(name, C[kind], twice[name]) for name in names if name not in of_cpp]
    if kind == "clang":
        jobs.append(("all headers", [*FLAGS[kind], "-x", "c++"], "".join(twice[name] for name in of_cpp)))
    else:
        jobs += [(name, [*FLAGS[kind], "-x", "c++"], twice[name]) for name in of_cpp]
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    problems = [text for text in pool.map(lambda job: problem(*job), jobs) if text]
print("\n\n".join(problems) or f"{len(jobs)} files compile with {compiler}")
sys.exit(1 if problems else 0)
