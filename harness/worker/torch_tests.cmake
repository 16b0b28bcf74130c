# Tests of the PyTorch worker: $ASSAY_PYTHON, else python3; skipped where that has no PyTorch.
foreach(test torch_worker_protocol torch_worker torch_models)
  add_test(NAME harness.${test}
           COMMAND sh -c "python=\${ASSAY_PYTHON:-python3}; command -v \"$python\" >/dev/null || \
{ echo \"skipped: no $python\"; exit 77; }; exec \"$python\" ${CMAKE_CURRENT_LIST_DIR}/${test}_test.py")
  set_tests_properties(harness.${test} PROPERTIES LABELS ci SKIP_RETURN_CODE 77 TIMEOUT 1200
                       ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
endforeach()
