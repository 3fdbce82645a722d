package approvals_test

const crashDirEnv = "HELDCALL_TEST_CRASH_DIR"

func runCrasher(string) {}
