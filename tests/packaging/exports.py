#!/usr/bin/env python3
"""A shared library exports tulle's symbols alone, the C API among them, and is not linked to cuSPARSE."""
import re
import subprocess
import sys

library, *headers = sys.argv[1:]


def lines(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


exported = {line.split()[0] for line in lines("nm", "-D", "--defined-only", "-P", library)}
# The C API; functions, objects, types, and static variables of namespace tulle.
ours = re.compile(r"tulle_|_ZNK?5tulle|_ZT[ISV]N5tulle|_ZGVN5tulle|_Z(GVZ|Z)NK?5tulle")
problems = [f"exported, but not tulle's: {name}" for name in sorted(exported) if not ours.match(name)]
declared = set(re.findall(r"^[^/#*]*?\b(tulle_\w+)\(", "\n".join(open(h).read() for h in headers), re.MULTILINE))
problems += [f"declared in a header, but not exported: {name}" for name in sorted(declared - exported)]
problems += [line for line in lines("readelf", "-d", library) if "NEEDED" in line and "cusparse" in line]
if problems or len(declared) < 20:
    sys.exit("\n".join(problems[:40]) or f"only {len(declared)} functions found in {headers}")
print(f"{len(exported)} symbols exported, {len(declared)} of them in the C headers")
