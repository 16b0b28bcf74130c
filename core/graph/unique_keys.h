// Keys of the objects that are open while a document is scanned.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace assay {

// Most objects have few keys, which are compared one by one. Keys must outlive the object that they are of.
class UniqueKeys {
 public:
  void open() { objects_.push_back({keys_.size(), nullptr}); }
  void close() {
    keys_.resize(objects_.back().first);
    objects_.pop_back();
  }
  // Of the innermost open object; false if it has the key already.
  bool add(std::string_view key) {
    Object& object = objects_.back();
    const auto first = keys_.begin() + static_cast<std::ptrdiff_t>(object.first);
    if (object.many == nullptr) {
      if (std::find(first, keys_.end(), key) != keys_.end()) return false;
      if (keys_.size() - object.first < kFew) {
        keys_.push_back(key);
        return true;
      }
      object.many = std::make_unique<std::unordered_set<std::string_view>>(first, keys_.end());
    }
    return object.many->insert(key).second;
  }

 private:
  static constexpr std::size_t kFew = 16;
  struct Object {
    std::size_t first;                                           // its keys are keys_[first], ...
    std::unique_ptr<std::unordered_set<std::string_view>> many;  // the same, once they are more than kFew
  };
  std::vector<Object> objects_;
  std::vector<std::string_view> keys_;  // of all open objects
};

}  // namespace assay
