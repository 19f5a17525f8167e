internal import Glibc
internal import Locking

/// The purpose of a helper process, which is this executable started under another name.
package struct HelperPurpose: Sendable {
    /// The name of the process, which tells it its purpose.
    package let processName: String

    private static let hostsInThisProcess = Locked(false)

    package init(processName: String) { self.processName = processName }

    /// Must be called first in `main`. In such a helper process, runs `serve`, which never returns.
    package func serveIfAsked(_ serve: () -> Never) {
        if CommandLine.arguments.first == processName { serve() }
        Self.hostsInThisProcess.withLock { $0 = true }
    }

    /// The executable to start: this one if it calls ``serveIfAsked(_:)``, otherwise `changebot-helper` in the same
    /// folder (for the test runner).
    static var executablePath: String? {
        if hostsInThisProcess.withLock({ $0 }) { return "/proc/self/exe" }
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0, let slash = buffer[..<count].lastIndex(of: CChar(bitPattern: UInt8(ascii: "/"))) else {
            return nil
        }
        return String(decoding: buffer[...slash].map { UInt8(bitPattern: $0) }, as: UTF8.self) + "changebot-helper"
    }
}
