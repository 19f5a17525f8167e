/// Bytes that are produced while they are sent, so that they are never in memory as a whole.
public struct ByteSource: Sendable {
    /// How many there are in all. If fewer or more come, the request fails and nothing is written.
    public let count: Int
    let next: @Sendable () async throws -> [UInt8]?

    /// - Parameter next: Returns the next bytes, any number (64 KiB is a good size); nil at the end. Called by one
    ///   task, and again only once the bytes before are on their way. An error that it throws ends the request with
    ///   `.sourceFailed`. It should respond to cancellation: the request waits for it.
    public init(count: Int, next: @escaping @Sendable () async throws -> [UInt8]?) {
        self.count = count
        self.next = next
    }
}
