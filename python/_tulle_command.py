"""The `tulle` of the PATH: becomes the command line that the package carries, without importing the package."""

import os
import sys
from importlib.util import find_spec


def main():
    package = os.path.dirname(find_spec("tulle").origin)
    program = os.path.join(package, "_bin", "tulle")
    os.execv(program, ["tulle", *sys.argv[1:]])
