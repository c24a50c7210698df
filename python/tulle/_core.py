"""Loads the extension: the one with CUDA where it was built and a driver with a device answers, else the CPU's."""

import ctypes
import os
from typing import TYPE_CHECKING


def _devices():
    """Number of CUDA devices that the driver reports, or why there is none."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0, "there is no NVIDIA driver on this machine (libcuda.so.1 was not found)"
    count = ctypes.c_int(0)
    status = driver.cuInit(0)
    if status == 0:
        status = driver.cuDeviceGetCount(ctypes.byref(count))
    if status != 0:
        return 0, f"the NVIDIA driver reports error {status}"
    return count.value, "" if count.value else "the NVIDIA driver sees no device"


def _load():
    built = os.path.isdir(os.path.join(os.path.dirname(__file__), "_cuda"))
    if os.environ.get("TULLE_BACKEND") == "cpu":
        why = "TULLE_BACKEND=cpu was set"
    elif not built:
        why = "this tulle was built without CUDA"
    else:
        devices, why = _devices()
        if devices:
            from ._cuda import _tulle

            return _tulle, ""
    from . import _tulle

    return _tulle, why


if TYPE_CHECKING:
    from . import _tulle as core

    why_no_cuda: str
else:
    core, why_no_cuda = _load()
