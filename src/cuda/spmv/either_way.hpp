// Products that can go through the matrix from its end as well.
#pragma once

namespace tulle::cuda {

/// Where one product after another goes the other way, the part of the matrix that the last one left in L2 is read
/// first. Sums of dot products are added in another order then.
class goes_either_way {
 public:
  /// Of the applications from now on.
  virtual void go_backward(bool backward) = 0;

 protected:
  ~goes_either_way() = default;
};

}  // namespace tulle::cuda
