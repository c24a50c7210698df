// All of tulle's C++ API.
#pragma once

#include <tulle/core/buffer.hpp>
#include <tulle/core/context.hpp>
#include <tulle/core/memory_resource.hpp>
#include <tulle/core/span.hpp>
#include <tulle/core/status.hpp>
#include <tulle/core/types.hpp>
#include <tulle/core/stream.hpp>
#include <tulle/core/vector_ref.hpp>
#include <tulle/formats/convert.hpp>
#include <tulle/formats/matrices.hpp>
#include <tulle/formats/matrix_ref.hpp>
#include <tulle/formats/stats.hpp>
#include <tulle/formats/validate.hpp>
#include <tulle/formats/views.hpp>
#include <tulle/io/generate.hpp>
#include <tulle/io/matrix_market.hpp>
#include <tulle/ops/linear_operator.hpp>
#include <tulle/ops/matrix.hpp>
#include <tulle/ops/spgemm.hpp>
#include <tulle/ops/spmv.hpp>
#include <tulle/ops/vector.hpp>
#include <tulle/ops/verify.hpp>
#include <tulle/version.hpp>
