# docs/disagreements.md against the waivers and against PyTorch: $ASSAY_PYTHON, else python3; skipped in part where
# that has no PyTorch.
add_test(NAME harness.disagreements
         COMMAND sh -c "python=\${ASSAY_PYTHON:-python3}; command -v \"$python\" >/dev/null || \
{ echo \"skipped: no $python\"; exit 77; }; exec \"$python\" ${CMAKE_CURRENT_LIST_DIR}/disagreements_test.py")
set_tests_properties(harness.disagreements PROPERTIES LABELS ci SKIP_RETURN_CODE 77 TIMEOUT 300
                     ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
