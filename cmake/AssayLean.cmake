# ASSAY_LEAN_BUILD (the presets set it): a clean build in two thirds of the time, by parsing the large headers of
# libraries less often and optimising tests less. Off by default, for builds that change a file and compile again:
# objects built with precompiled headers are not shared by ccache between build folders, and only a build without them
# shows that a file includes what it uses.

# Tests are compiled more often than they are run. At -O1 GCC 12 sees overflows in std::string that are none (its bug
# 105651).
set(assay_test_options $<$<CONFIG:Release>:-O1>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  list(APPEND assay_test_options -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-maybe-uninitialized)
endif()

# One precompiled header for all rooms, one for all their tests; of the standard library, fmt, nlohmann-json and
# GoogleTest only, so that an edit in a room rebuilds no more than without them.
function(assay_precompiled_headers)
  if(NOT ASSAY_LEAN_BUILD)
    return()
  endif()
  set(headers algorithm array bit chrono cmath cstdint cstring filesystem functional limits map memory numeric optional
      set span string string_view utility variant vector fmt/format.h)
  list(TRANSFORM headers REPLACE ".+" "<\\0>")
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/precompiled.cpp CONTENT "")
  add_library(assay_precompiled OBJECT ${CMAKE_BINARY_DIR}/precompiled.cpp)
  target_link_libraries(assay_precompiled PRIVATE fmt::fmt Threads::Threads)
  target_precompile_headers(assay_precompiled PRIVATE ${headers})
  if(ASSAY_TESTS)
    add_library(assay_precompiled_test OBJECT ${CMAKE_BINARY_DIR}/precompiled.cpp)
    # As the executables that use it are compiled.
    set_target_properties(assay_precompiled_test PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(assay_precompiled_test PRIVATE -fPIE ${assay_test_options})
    target_link_libraries(assay_precompiled_test PRIVATE fmt::fmt nlohmann_json::nlohmann_json GTest::gmock
                          Threads::Threads)
    target_precompile_headers(assay_precompiled_test PRIVATE ${headers} <gmock/gmock.h> <gtest/gtest.h>
                              <nlohmann/json.hpp>)
  endif()
endfunction()

# TARGET's files are compiled with a precompiled header and some eight at a time: parsing the headers of the rooms is a
# third of the time, and those that include JSON or CLI11 share the templates they instantiate. Files of a group share
# their anonymous namespaces, so that a name in one of them may not stand for something else in another. The group
# follows from the file's name alone, until a room has doubled: a new file never moves others together that clash.
function(assay_lean target precompiled)
  if(ASSAY_LEAN_BUILD)  # when all of its sources are known
    cmake_language(EVAL CODE "cmake_language(DEFER CALL assay_compile_together ${target} ${precompiled})")
  endif()
endfunction()

function(assay_compile_together target precompiled)
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    target_compile_options(${target} PRIVATE ${assay_test_options})
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources EXCLUDE REGEX "/rules/")  # one small function an operator, with the names of operators
  foreach(source ${sources})
    file(STRINGS ${source} heavy LIMIT_COUNT 1 REGEX "^#include <(nlohmann/json|CLI/CLI)\\.hpp>")
    if(heavy)
      list(APPEND heavy_sources ${source})
    else()
      list(APPEND plain_sources ${source})
    endif()
  endforeach()
  foreach(kind heavy plain)
    list(LENGTH ${kind}_sources count)
    set(groups 1)
    while(count GREATER_EQUAL 12)  # a power of two, for groups of six to eleven
      math(EXPR groups "${groups} * 2")
      math(EXPR count "${count} / 2")
    endwhile()
    foreach(source ${${kind}_sources})
      cmake_path(GET source FILENAME name)
      string(MD5 hash ${name})
      string(SUBSTRING ${hash} 0 4 hash)
      math(EXPR group "0x${hash} % ${groups}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${kind}_${group})
    endforeach()
  endforeach()
endfunction()
