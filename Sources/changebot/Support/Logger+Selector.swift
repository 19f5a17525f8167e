internal import DocumentFlow
internal import Logging
internal import Rules

extension Logger {
    /// Warns of conditions of `--selector` that are valid but look wrong.
    func warn(about filter: DocumentFilter?) {
        for reason in filter?.warnings ?? [] {
            warning("a condition of --selector looks wrong", metadata: [LogKey.reason: "\(reason)"])
        }
    }
}
