# docs/disagreements.md against the waivers and against PyTorch; skipped in part where Python has no PyTorch.
assay_python_test(harness.disagreements ${CMAKE_CURRENT_LIST_DIR}/disagreements_test.py ci 300)
