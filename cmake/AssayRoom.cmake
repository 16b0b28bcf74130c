# assay_room(NAME [DEPENDS ...] [LINK ...] [EXCLUDE REGEX])
#
# A room is one top-level folder and one static library, assay_NAME, made of every *.cpp under it, so that adding a
# file needs no edit anywhere. Files are sorted by their name's ending:
#   *_test.cpp          assay_NAME_tests          ctest label smoke (all together a few seconds)
#   *_ci_test.cpp       assay_NAME_ci_tests       ctest label ci
#   *_nightly_test.cpp  assay_NAME_nightly_tests  ctest label nightly
#   *_fuzz.cpp          one libFuzzer program each, with ASSAY_FUZZ; the target fuzzers builds them all
#   *_main.cpp          never in the library; the room adds its own programs
include(GNUInstallDirs)
function(assay_room name)
  cmake_parse_arguments(ROOM "" "EXCLUDE" "DEPENDS;LINK;TEST_LINK" ${ARGN})
  file(GLOB_RECURSE all CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(ROOM_EXCLUDE)
    list(FILTER all EXCLUDE REGEX ${ROOM_EXCLUDE})
  endif()
  set(library ${all})
  list(FILTER library EXCLUDE REGEX "_(test|fuzz|main)\\.cpp$")
  set(includes $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}> $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/abi>
      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/assay-kernels>)
  set(deps ${ROOM_DEPENDS})
  list(TRANSFORM deps PREPEND assay_)
  if(library)
    add_library(assay_${name} STATIC ${library})
    target_include_directories(assay_${name} PUBLIC ${includes})
    target_link_libraries(assay_${name} PUBLIC ${deps} ${ROOM_LINK})
    assay_lean(assay_${name} assay_precompiled)
  else()
    add_library(assay_${name} INTERFACE)
    target_include_directories(assay_${name} INTERFACE ${includes})
    target_link_libraries(assay_${name} INTERFACE ${deps} ${ROOM_LINK})
  endif()
  if(ASSAY_TESTS)
    set(tests ${all})
    list(FILTER tests INCLUDE REGEX "_test\\.cpp$")
    foreach(tier smoke ci nightly)
      set(sources ${tests})
      if(tier STREQUAL smoke)
        list(FILTER sources EXCLUDE REGEX "_(ci|nightly)_test\\.cpp$")
        set(target assay_${name}_tests)
      else()
        list(FILTER sources INCLUDE REGEX "_${tier}_test\\.cpp$")
        set(target assay_${name}_${tier}_tests)
      endif()
      if(sources)
        add_executable(${target} ${sources})
        target_link_libraries(${target} PRIVATE assay_${name} ${ROOM_TEST_LINK} GTest::gmock GTest::gtest_main)
        target_compile_definitions(${target} PRIVATE ASSAY_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
        assay_lean(${target} assay_precompiled_test)
        # Only for those that load what was built: builds in several folders share the objects of all others.
        foreach(source ${sources})
          file(STRINGS ${source} loads REGEX "ASSAY_BINARY_DIR|run_program\\.h")
          if(loads AND ASSAY_LEAN_BUILD)
            target_compile_definitions(${target} PRIVATE ASSAY_BINARY_DIR="${CMAKE_BINARY_DIR}")
          elseif(loads)
            set_property(SOURCE ${source} APPEND PROPERTY
              COMPILE_DEFINITIONS ASSAY_BINARY_DIR="${CMAKE_BINARY_DIR}")
          endif()
        endforeach()
        gtest_discover_tests(${target} DISCOVERY_MODE PRE_TEST TEST_PREFIX ${name}.
                             PROPERTIES LABELS ${tier} TIMEOUT 600
                             ENVIRONMENT "ASSAY_CACHE_DIR=${CMAKE_BINARY_DIR}/test-cache")
      endif()
    endforeach()
  endif()
  if(ASSAY_FUZZ)
    set(fuzzers ${all})
    list(FILTER fuzzers INCLUDE REGEX "_fuzz\\.cpp$")
    foreach(source ${fuzzers})
      get_filename_component(stem ${source} NAME_WE)
      add_executable(${stem} ${source})
      target_compile_options(${stem} PRIVATE -fsanitize=fuzzer)
      target_link_options(${stem} PRIVATE -fsanitize=fuzzer)
      target_link_libraries(${stem} PRIVATE assay_${name})
      add_dependencies(fuzzers ${stem})
    endforeach()
  endif()
endfunction()

if(ASSAY_FUZZ)
  add_custom_target(fuzzers)
endif()

# assay_program(NAME SOURCE ROOM): an executable. Short-lived small blocks (JSON, messages) are a quarter of what a run
# of single operators costs with glibc's malloc; mimalloc halves that. Sanitizers bring their own.
find_package(mimalloc 2 QUIET)
function(assay_program name source room)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE assay_${room})
  if(TARGET mimalloc AND NOT ASSAY_SANITIZE)
    target_link_libraries(${name} PRIVATE -Wl,--push-state,--no-as-needed mimalloc -Wl,--pop-state)
  endif()
endfunction()

# assay_registry(TARGET FUNCTION TABLE_TYPE HEADER DIR...)
#
# Every file NAME.cpp in the given folders defines `void register_NAME(TABLE_TYPE&)`; this generates FUNCTION, which
# calls them all. So an operator or a suite is added by adding its file, without globals and without a central list.
function(assay_registry target function table header)
  set(body "")
  set(declarations "")
  foreach(dir ${ARGN})
    file(GLOB files CONFIGURE_DEPENDS ${dir}/*.cpp)
    list(FILTER files EXCLUDE REGEX "_(test|fuzz|main)\\.cpp$")
    list(SORT files)
    foreach(file ${files})
      get_filename_component(stem ${file} NAME_WE)
      string(APPEND declarations "void register_${stem}(${table}&);\n")
      string(APPEND body "  register_${stem}(table);\n")
    endforeach()
  endforeach()
  string(REGEX REPLACE "::[A-Za-z_]+$" "" space ${function})
  string(REGEX REPLACE "^.*::" "" short ${function})
  set(out ${CMAKE_CURRENT_BINARY_DIR}/${target}_${short}.cpp)
  file(CONFIGURE OUTPUT ${out} CONTENT
"// Generated by assay_registry (cmake/AssayRoom.cmake).
#include \"${header}\"
namespace ${space} {
${declarations}
void ${short}(${table}& table) {
${body}}
}  // namespace ${space}
" @ONLY)
  target_sources(${target} PRIVATE ${out})
endfunction()
