internal import CEmbeddedFiles

/// The commit that the program was built from.
///
/// `.package/version` exports it as `CHANGEBOT_COMMIT` and `CHANGEBOT_COMMIT_DATE`, and `Package.swift` passes these to
/// the compiler. A plain `swift build` has neither, and does not need git.
struct BuildCommit {
    /// A shortened hash, or empty.
    let hash: String
    /// As `2026-11-23`, or empty.
    let date: String

    static let current = BuildCommit(
        hash: String(cString: build_commit()), date: String(cString: build_commit_date()))

    /// One line that begins with the version, for `--version`.
    func line(version: String) -> String {
        let words = [hash, date].filter { !$0.isEmpty }
        return "\(version) (\(words.isEmpty ? "development build" : words.joined(separator: " ")))"
    }
}
