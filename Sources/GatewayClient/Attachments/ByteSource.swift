/// Bytes that are made while they are sent, and never held whole.
public struct ByteSource: Sendable {
    /// How many there are in all. Other than promised, they are not sent to their end and nothing is written.
    public let count: Int
    let next: @Sendable () async throws -> [UInt8]?

    /// - Parameter next: The next bytes, as many as it likes (some 64 KiB are good); nil at the end. Called by one task,
    ///   again once the bytes before are on their way. What it throws ends the request as `.sourceFailed`. It should heed
    ///   cancellation: the request waits for it.
    public init(count: Int, next: @escaping @Sendable () async throws -> [UInt8]?) {
        self.count = count
        self.next = next
    }
}
