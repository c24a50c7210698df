// The vector operations of the CUDA backend; see kernels/vector.hpp for what each does.
#pragma once

#include "kernels/vector.hpp"

namespace tulle::cuda {

std::size_t vector_workspace_bytes(const context& ctx);

void fill_vector(const vector_work& work, const coefficient_operand& value, void* y);
void copy_vector(const vector_work& work, const void* x, void* y);
void update_vectors(const vector_work& work, std::span<const update_operand> terms, const void* w, void* dots);
void dot_vectors(const vector_work& work, std::span<const dot_operand> pairs, bool root, void* results);
void gather_vector(const vector_work& work, offset_type type, const void* from, const void* x, void* y);
void scatter_vector(const vector_work& work, offset_type type, const void* to, const void* x, void* y);
void random_vector(const vector_work& work, std::uint64_t key, void* y);
void convert_vector(const vector_work& work, double a, scalar_type from, const void* x, bool adds, void* y);

}  // namespace tulle::cuda
