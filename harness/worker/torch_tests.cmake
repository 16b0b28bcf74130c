# Tests of the PyTorch worker: $ASSAY_PYTHON, else python3; skipped where that has no PyTorch.
# The whole catalogue, and what torch.compile makes of it, is for the night.
foreach(test torch_worker_protocol torch_worker torch_models)
  set(tier ci)
  if(test STREQUAL torch_models)
    set(tier nightly)
  endif()
  add_test(NAME harness.${test}
           COMMAND sh -c "python=\${ASSAY_PYTHON:-python3}; command -v \"$python\" >/dev/null || \
{ echo \"skipped: no $python\"; exit 77; }; exec \"$python\" ${CMAKE_CURRENT_LIST_DIR}/${test}_test.py")
  set_tests_properties(harness.${test} PROPERTIES LABELS ${tier} SKIP_RETURN_CODE 77 TIMEOUT 1200
                       ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
endforeach()
