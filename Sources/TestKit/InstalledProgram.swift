internal import Foundation

/// A program of the machine that some tests need.
package struct InstalledProgram: Sendable {
    /// Its path; nil if it is not in `PATH`.
    package let path: String?
    /// The variable that makes the tests fail if it is missing.
    package let variable: String

    package init(_ name: String, requiredBy variable: String) {
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
        path = folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
        self.variable = variable
    }

    /// Whether its tests must not be skipped.
    package var isWanted: Bool { path != nil || ProcessInfo.processInfo.environment[variable]?.isEmpty == false }
}
