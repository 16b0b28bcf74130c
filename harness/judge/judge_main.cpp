// assay-judge: hosts the judge in a process of its own (docs/worker_protocol.md).
#include "harness/worker/judge_messages.h"

int main() { return assay::serve_judge(3, 4); }
