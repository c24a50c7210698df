// NumPy's C API, imported once by module.cpp: the calls that are made for every product cost nanoseconds through it.
#pragma once

#define PY_ARRAY_UNIQUE_SYMBOL tulle_python_numpy
#define NPY_NO_DEPRECATED_API NPY_1_22_API_VERSION
#ifndef TULLE_IMPORTS_NUMPY
#define NO_IMPORT_ARRAY
#endif

#include <nanobind/nanobind.h>
#include <numpy/arrayobject.h>

namespace nb = nanobind;
