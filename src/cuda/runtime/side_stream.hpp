// A second stream, for kernels that need not wait for those of a context's stream.
#pragma once

#include <cuda_runtime_api.h>

namespace tulle::cuda {

/// Made when it is first asked for. Its kernels get multiprocessors first: what is put there is what would end last.
class side_stream {
 public:
  side_stream() = default;
  ~side_stream();
  side_stream(const side_stream&) = delete;
  side_stream& operator=(const side_stream&) = delete;

 private:
  friend class side_work;
  void make();

  cudaStream_t stream_ = nullptr;
  cudaEvent_t event_ = nullptr;
};

/// From here on until it is destroyed, work on stream() runs beside that of `main`, after all that `main` had before
/// and before all that it gets later. Memory that it uses is allocated before and freed after. The device is current.
class side_work {
 public:
  /// Nothing runs beside `main` where `worthwhile` is false: stream() is `main` then.
  side_work(side_stream& side, cudaStream_t main, bool worthwhile);
  ~side_work();
  side_work(const side_work&) = delete;
  side_work& operator=(const side_work&) = delete;

  [[nodiscard]] cudaStream_t stream() const { return side_ == nullptr ? main_ : side_->stream_; }

 private:
  side_stream* side_;
  cudaStream_t main_;
};

}  // namespace tulle::cuda
