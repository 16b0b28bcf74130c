# What `cmake --install` puts where, and the package that find_package(Assay) reads.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(assay_abi_headers INTERFACE)
add_library(Assay::abi ALIAS assay_abi_headers)
set_target_properties(assay_abi_headers PROPERTIES EXPORT_NAME abi)
target_include_directories(assay_abi_headers INTERFACE $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/abi>
                                                       $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS assay_abi_headers EXPORT AssayTargets)
install(DIRECTORY abi/assay DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(DIRECTORY abi/ DESTINATION ${CMAKE_INSTALL_DATADIR}/assay/abi FILES_MATCHING PATTERN "*.json")

install(TARGETS assay assay-worker assay-judge RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
if(TARGET assay-mpi-rank)
  install(TARGETS assay-mpi-rank RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
install(TARGETS assay_reference_plugin assay_trainium_plugin assay_null_plugin assay_gloo_counter
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/assay)
install(DIRECTORY harness/contracts harness/known_failures DESTINATION ${CMAKE_INSTALL_DATADIR}/assay/harness FILES_MATCHING PATTERN "*.json")
install(FILES harness/worker/torch_worker.py harness/worker/torch_rank.py DESTINATION ${CMAKE_INSTALL_DATADIR}/assay/harness/worker)
install(DIRECTORY harness/worker/torch_backend DESTINATION ${CMAKE_INSTALL_DATADIR}/assay/harness/worker
        FILES_MATCHING PATTERN "*.py")
install(FILES backend/calibration/calibration.csv DESTINATION ${CMAKE_INSTALL_DATADIR}/assay/backend/calibration)
install(FILES backend/collectives/measurements.csv DESTINATION ${CMAKE_INSTALL_DATADIR}/assay/backend/collectives)
install(FILES cli/laplace/laplace_assumptions.json DESTINATION ${CMAKE_INSTALL_DATADIR}/assay/cli/laplace)
install(DIRECTORY sweeps/catalogue DESTINATION ${CMAKE_INSTALL_DATADIR}/assay/sweeps)

install(EXPORT AssayTargets NAMESPACE Assay:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Assay)
configure_package_config_file(cmake/AssayConfig.cmake.in ${CMAKE_BINARY_DIR}/AssayConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Assay PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/AssayConfigVersion.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/AssayConfig.cmake ${CMAKE_BINARY_DIR}/AssayConfigVersion.cmake
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Assay)
