"""Replays a transcript: `$ command`, then its standard output, its standard error behind `! `, and `[exit N]` unless 0.

    golden.py BINARY TRANSCRIPT [--update]

Commands run by bash in an empty folder with the binary on the PATH as `tulle`. Numbers that vary from run to run stand
as #. --update writes the transcript anew.
"""
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from tool import environment

NUMBER = r"-?\d[\d.]*(?:e[-+]?\d+)?"
BUSY = "tulle: the machine is overloaded: "  # said of other processes
VOLATILE = [
    (rf"{NUMBER} GFLOP/s", "# GFLOP/s"),
    (rf"{NUMBER} [kMGT]?B/s of compulsory", "# GB/s of compulsory"),
    (rf"{NUMBER}% of this machine's {NUMBER} [kMGT]?B/s", "#% of this machine's # GB/s"),
    (r": out of caches", ""),
    (rf"(?:{NUMBER} - )?{NUMBER} (?:ns|us|ms|s)\b", "# us"),
    (rf"{NUMBER} [kMG]?B/s", "# MB/s"),
    (rf'("(?:microseconds|(?:numeric_)?(?:lower|upper)_quartile|numeric_us|gflops|gbs|plan_us|peak_bytes|workspace_bytes|seconds|mb_per_second|error_ratio)": ){NUMBER}', r"\1#"),
    (rf"(largest error is ){NUMBER}", r"\1#"),
    (rf"{NUMBER} k?B at", "# B at"),
    (rf"(wrote [^:\n]+, ){NUMBER} [kM]?B\b", r"\1# B"),
    (rf"{NUMBER} [kMG]?B at most", "# at most"),
    (r"\[threads=[^]]*\]", "[#]"),
    (r"\b\d+\.\d+\.\d+\b", "#.#.#"),
]


def normalised(text):
    for pattern, replacement in VOLATILE:
        text = re.sub(pattern, replacement, text)
    return text


def transcribe(command, folder, env):
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True, timeout=60,
                          stdin=subprocess.DEVNULL)
    lines = [f"$ {command}"]
    lines += normalised(done.stdout).splitlines()
    said = [line for line in done.stderr.splitlines() if not line.startswith(BUSY)]
    lines += [f"! {line}" for line in normalised("\n".join(said)).splitlines()]
    if done.returncode:
        lines.append(f"[exit {done.returncode}]")
    return lines


def main():
    binary, transcript = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    expected = transcript.read_text().splitlines()
    commands = [line[2:] for line in expected if line.startswith("$ ")]
    if not commands:
        sys.exit(f"{transcript}: no command in it")
    actual = []
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as home:
        env = environment(home)
        env["PATH"] = f"{binary.parent}{os.pathsep}{env['PATH']}"
        for command in commands:
            actual += transcribe(command, folder, env)
    if "--update" in sys.argv:
        transcript.write_text("\n".join(actual) + "\n")
    elif actual != expected:
        print("\n".join(difflib.unified_diff(expected, actual, str(transcript), "now", lineterm="")))
        sys.exit(1)


main()
