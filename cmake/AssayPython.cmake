# assay_python_test(NAME SCRIPT TIER TIMEOUT): a test in Python, with $ASSAY_PYTHON, else python3. Exit status 77 means
# skipped, as it is where there is no Python.
function(assay_python_test name script tier timeout)
  add_test(NAME ${name}
           COMMAND sh -c "python=\${ASSAY_PYTHON:-python3}; command -v \"$python\" >/dev/null || \
{ echo \"skipped: no $python\"; exit 77; }; exec \"$python\" ${script}")
  set_tests_properties(${name} PROPERTIES LABELS ${tier} SKIP_RETURN_CODE 77 TIMEOUT ${timeout}
                       ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)
endfunction()
