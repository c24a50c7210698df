// Instruction sets of one binary: a body is compiled for each, and the best that the machine has is picked at plan
// time.
#pragma once

#include <cstdint>
#include <string_view>

#if defined(__x86_64__) && defined(__GNUC__)
#define TULLE_X86 1
/// Attributes of a function compiled for AVX-512 (attributes take no constant, so this is a macro).
#define TULLE_AVX512 gnu::target("avx512f,avx512dq,avx512vl,avx2,fma,bmi,popcnt")
/// The same with what every processor that isa::avx512 stands for has beside it, and without fma.
#define TULLE_AVX512BW gnu::target("avx512f,avx512dq,avx512vl,avx512bw,avx2,bmi,bmi2,lzcnt,popcnt")
/// AVX2 with what every processor that isa::avx2 stands for has beside it, and without fma.
#define TULLE_AVX2 gnu::target("avx2,bmi,bmi2,lzcnt,popcnt")
#else
#define TULLE_X86 0
#endif

namespace tulle::cpu {

enum class isa : std::uint8_t { plain, avx2, avx512 };

constexpr std::string_view name(isa level) {
  return level == isa::avx512 ? "avx512" : level == isa::avx2 ? "avx2" : "plain";
}

#if TULLE_X86
inline isa best_isa() noexcept {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
    return isa::avx512;
  }
  const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
  return wide ? isa::avx2 : isa::plain;
}

template <class Body>
[[TULLE_AVX512, gnu::noinline]] void run_avx512(const Body& body) {
  body();
}
template <class Body>
[[gnu::target("avx2,fma"), gnu::noinline]] void run_avx2(const Body& body) {
  body();
}
#else
inline isa best_isa() noexcept { return isa::plain; }
#endif

/// Calls body(), compiled for that instruction set. The body and everything it calls in a loop must
/// be always_inline.
template <class Body>
void with_isa(isa level, const Body& body) {
#if TULLE_X86
  if (level == isa::avx512) return run_avx512(body);
  if (level == isa::avx2) return run_avx2(body);
#endif
  (void)level;
  body();
}

}  // namespace tulle::cpu
