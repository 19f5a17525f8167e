internal import HelperProcesses

/// The helper process that runs jq programs.
package enum JQHelper {
    static let purpose = HelperPurpose(processName: "changebot-jq")

    /// Must be called first in `main`. In a helper process, serves until its input ends and never returns.
    package static func serveIfAsked() {
        purpose.serveIfAsked {
            var server = ProgramServer()
            server.serve()
        }
    }
}
