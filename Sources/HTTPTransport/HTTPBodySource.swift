internal import Encodings
internal import Locking

/// A request body that is produced while it is sent, so that memory never holds all of it.
///
/// Its length is known beforehand and sent as `Content-Length`. It can be read only once, so the request gets a new
/// connection: a reused one might turn out to be closed after a part of the body was sent.
package struct HTTPBodySource: Sendable {
    /// Returns the next bytes; nil at the end.
    package typealias Next = @Sendable () async throws -> [UInt8]?

    /// The total length in bytes.
    package let count: Int
    /// The next bytes, any number; nil at the end. Called by one task, and only after the previous bytes were passed
    /// on. An error that it throws ends the request with `.sourceFailed`. It should respond to cancellation: the
    /// request waits for it.
    package let next: Next

    /// If `next` returns fewer or more than `count` bytes in total, the request fails with `.sourceFailed`.
    package init(count: Int, next: @escaping Next) {
        self.count = count
        self.next = next
    }
}

/// Moves the bytes of a ``HTTPBodySource`` to its transfer.
struct UploadFeed: Sendable {
    let source: HTTPBodySource
    let flow: Locked<UploadFlow>
    /// Tells the transfer that there are bytes, or that none will come.
    let wakeTransfer: @Sendable () -> Void

    /// Runs until the source or the transfer ends.
    ///
    /// The last bytes are held back until the source has ended: a body that is too long must not count as complete.
    func run() async {
        var left = source.count
        var last: [UInt8] = []
        do {
            while let part = try await source.next() {
                guard part.count <= left else {
                    return fail("is longer than the \(source.count.counted("byte")) announced")
                }
                left -= part.count
                guard !part.isEmpty else { continue }
                guard left > 0 else {
                    last = part
                    continue
                }
                guard await offer(part) else { return }
            }
        } catch is CancellationError {
            return fail(HTTPTransportError(.cancelled, "cancelled"))
        } catch {
            return fail("can't be read: \(error)")
        }
        guard left == 0 else { return fail("ends \(left.counted("byte")) short of the \(source.count) announced") }
        _ = await offer(last)
    }

    /// Waits until the previous bytes are taken, then offers these. Returns false if the transfer is over.
    private func offer(_ part: [UInt8]) async -> Bool {
        let isOpen = await withUnsafeContinuation { feeder in
            if let isOpen = flow.withLock({ $0.wait(feeder) }) { feeder.resume(returning: isOpen) }
        }
        guard isOpen else { return false }
        flow.withLock { $0.put(part) }
        wakeTransfer()
        return true
    }

    private func fail(_ reason: String) {
        fail(HTTPTransportError(.sourceFailed, "the body to be sent \(reason)"))
    }

    private func fail(_ error: HTTPTransportError) {
        flow.withLock { $0.fail(error) }
        wakeTransfer()
    }
}
