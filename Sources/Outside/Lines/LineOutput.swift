/// Where lines of NDJSON go.
protocol LineOutput: Sendable {
    /// Writes whole lines. Once it returns, they are on disk, unless this is a pipe or a terminal.
    ///
    /// - Parameter lines: Each ended by a line feed.
    /// - Throws: `RunError`: `.cannotWrite`; then none of these lines is in the file. `CancellationError`.
    func append(_ lines: [UInt8]) async throws
}
