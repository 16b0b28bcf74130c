# What kernels of users are built against (cmake/AssayKernels.cmake): the device as objects and static libraries, and the
# headers of its rooms. `cmake --install BUILD --component kernels` installs it alone.
set(kernels_headers ${CMAKE_INSTALL_INCLUDEDIR}/assay-kernels)
install(TARGETS assay_trainium assay_backend assay_core assay_abi EXPORT AssayKernelsTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/assay COMPONENT kernels
        OBJECTS DESTINATION ${CMAKE_INSTALL_LIBDIR}/assay COMPONENT kernels)
install(DIRECTORY core backend DESTINATION ${kernels_headers} COMPONENT kernels
        FILES_MATCHING PATTERN "*.h" PATTERN "*_test.h" EXCLUDE)
install(DIRECTORY abi/assay DESTINATION ${kernels_headers} COMPONENT kernels FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
install(EXPORT AssayKernelsTargets NAMESPACE Assay:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Assay COMPONENT kernels)
install(FILES cmake/AssayKernels.cmake DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/Assay COMPONENT kernels)
