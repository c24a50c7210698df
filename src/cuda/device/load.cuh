// Loads that choose their cache: matrix data is read once and must not evict x.
#pragma once

#include <cstdint>

namespace tulle::cuda {

/// Read-only load that allocates no line in L1: for values, indices and offsets that are read once.
__device__ __forceinline__ float load_stream(const float* p) {
  float v;
  asm("ld.global.nc.L1::no_allocate.f32 %0, [%1];" : "=f"(v) : "l"(p));
  return v;
}
__device__ __forceinline__ double load_stream(const double* p) {
  double v;
  asm("ld.global.nc.L1::no_allocate.f64 %0, [%1];" : "=d"(v) : "l"(p));
  return v;
}
__device__ __forceinline__ std::int32_t load_stream(const std::int32_t* p) {
  std::int32_t v;
  asm("ld.global.nc.L1::no_allocate.s32 %0, [%1];" : "=r"(v) : "l"(p));
  return v;
}
__device__ __forceinline__ std::uint16_t load_stream(const std::uint16_t* p) {
  std::uint16_t v;
  asm("ld.global.nc.L1::no_allocate.u16 %0, [%1];" : "=h"(v) : "l"(p));
  return v;
}
__device__ __forceinline__ std::uint8_t load_stream(const std::uint8_t* p) {
  std::uint32_t v;
  asm("ld.global.nc.L1::no_allocate.u8 %0, [%1];" : "=r"(v) : "l"(p));
  return static_cast<std::uint8_t>(v);
}

/// The same for 4, 8 or 16 neighbouring bytes, aligned.
__device__ __forceinline__ void load_stream(const std::uint8_t* p, std::uint8_t (&v)[4]) {
  std::uint32_t all;
  asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(all) : "l"(p));
#pragma unroll
  for (int i = 0; i < 4; ++i) v[i] = static_cast<std::uint8_t>(all >> (8 * i));
}
__device__ __forceinline__ void load_stream(const std::uint8_t* p, std::uint8_t (&v)[8]) {
  std::uint32_t all[2];
  asm("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(all[0]), "=r"(all[1]) : "l"(p));
#pragma unroll
  for (int i = 0; i < 8; ++i) v[i] = static_cast<std::uint8_t>(all[i / 4] >> (8 * (i % 4)));
}
__device__ __forceinline__ void load_stream(const std::uint16_t* p, std::uint16_t (&v)[8]) {
  std::uint32_t all[4];
  asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(all[0]), "=r"(all[1]), "=r"(all[2]), "=r"(all[3]) : "l"(p));
#pragma unroll
  for (int i = 0; i < 8; ++i) v[i] = static_cast<std::uint16_t>(all[i / 2] >> (16 * (i % 2)));
}
__device__ __forceinline__ void load_stream(const std::uint16_t* p, std::uint16_t (&v)[4]) {
  asm("ld.global.nc.L1::no_allocate.v4.u16 {%0, %1, %2, %3}, [%4];" : "=h"(v[0]), "=h"(v[1]), "=h"(v[2]), "=h"(v[3]) : "l"(p));
}
__device__ __forceinline__ void load_stream(const std::int32_t* p, std::int32_t (&v)[4]) {
  asm("ld.global.nc.L1::no_allocate.v4.s32 {%0, %1, %2, %3}, [%4];" : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3]) : "l"(p));
}
__device__ __forceinline__ void load_stream(const float* p, float (&v)[4]) {
  asm("ld.global.nc.L1::no_allocate.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v[0]), "=f"(v[1]), "=f"(v[2]), "=f"(v[3]) : "l"(p));
}
__device__ __forceinline__ void load_stream(const float* p, float (&v)[2]) {
  asm("ld.global.nc.L1::no_allocate.v2.f32 {%0, %1}, [%2];" : "=f"(v[0]), "=f"(v[1]) : "l"(p));
}
__device__ __forceinline__ void load_stream(const double* p, double (&v)[2]) {
  asm("ld.global.nc.L1::no_allocate.v2.f64 {%0, %1}, [%2];" : "=d"(v[0]), "=d"(v[1]) : "l"(p));
}

/// Brings the line of `p` to L2.
__device__ __forceinline__ void prefetch_l2(const void* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }

}  // namespace tulle::cuda
