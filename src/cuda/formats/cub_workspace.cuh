#pragma once
#include "cuda/runtime/compat.cuh"
