// The helper processes of the tests and benchmarks. It does what the program does for its own helper processes, but it starts faster,
// because it needs few libraries.

import JQ
import SyncFunctions

JQHelper.serveIfAsked()
SyncFunctionHelper.serveIfAsked()
