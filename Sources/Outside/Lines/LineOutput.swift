/// A destination for lines of NDJSON.
protocol LineOutput: Sendable {
    /// Writes whole lines. When it returns, they are on disk, unless this is a pipe or a terminal.
    ///
    /// - Parameter lines: Lines that end with a line feed.
    /// - Throws: `RunError` with `.cannotWrite`: none of the lines is in the file. `CancellationError`.
    func append(_ lines: [UInt8]) async throws
}
