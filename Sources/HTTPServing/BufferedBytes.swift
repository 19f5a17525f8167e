internal import NIOConcurrencyHelpers

/// How many bytes an answer keeps in memory in addition to the piece being sent.
package final class BufferedBytes: Sendable {
    private let box = NIOLockedValueBox(0)

    /// Counts from 0.
    package init() {}

    /// The current number.
    package var count: Int { box.withLockedValue { $0 } }

    /// Counts bytes while `body` runs.
    package func counting<Value>(_ bytes: Int, _ body: () async throws -> Value) async rethrows -> Value {
        box.withLockedValue { $0 += bytes }
        defer { box.withLockedValue { $0 -= bytes } }
        return try await body()
    }
}
