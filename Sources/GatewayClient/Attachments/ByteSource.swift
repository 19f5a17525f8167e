/// Bytes that are produced while they are sent, so that memory never holds all of them.
public struct ByteSource: Sendable {
    /// The total number of bytes. If the source returns fewer or more, the request fails and nothing is written.
    public let count: Int
    let next: @Sendable () async throws -> [UInt8]?

    /// - Parameter next: Returns the next bytes, any number (64 KiB is a good size); nil at the end. Called by one
    ///   task, and only after the previous bytes were sent. An error that it throws ends the request with
    ///   `.sourceFailed`. It should respond to cancellation: the request waits for it.
    public init(count: Int, next: @escaping @Sendable () async throws -> [UInt8]?) {
        self.count = count
        self.next = next
    }
}
