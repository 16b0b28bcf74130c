# Tests of the PyTorch worker, skipped where Python has no PyTorch. The whole catalogue, and what torch.compile makes of
# it, is for the night.
foreach(test torch_worker_protocol torch_worker torch_own_operators torch_models)
  set(tier ci)
  if(test STREQUAL torch_models)
    set(tier nightly)
  endif()
  assay_python_test(harness.${test} ${CMAKE_CURRENT_LIST_DIR}/${test}_test.py ${tier} 1200)
endforeach()
