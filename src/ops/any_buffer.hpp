// A buffer whose element type is forgotten.
#pragma once

#include <cstddef>
#include <memory>
#include <tulle/core/buffer.hpp>
#include <utility>

namespace tulle::detail {

class any_buffer {
 public:
  any_buffer() noexcept = default;
  template <class T>
  explicit any_buffer(buffer<T>&& from) : bytes_(from.bytes()), data_(from.data()) {
    owner_ = std::make_shared<buffer<T>>(std::move(from));
  }

  [[nodiscard]] void* data() noexcept { return data_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  [[nodiscard]] bool empty() const noexcept { return bytes_ == 0; }

 private:
  std::size_t bytes_ = 0;
  void* data_ = nullptr;
  std::shared_ptr<void> owner_;
};

}  // namespace tulle::detail
