internal import Locking

/// A request body that is made while it is sent: it is never whole in memory.
///
/// Its length is known beforehand, hence `Content-Length`. It can be read once, so the request gets a connection of its
/// own: a kept one might turn out to be closed when part of the body is gone.
package struct HTTPBodySource: Sendable {
    package typealias Next = @Sendable () async throws -> [UInt8]?

    /// Bytes in all.
    package let count: Int
    /// The next bytes, as many as it likes; nil at the end. Called again once the bytes before are on their way, by one
    /// task. What it throws ends the request; it should heed cancellation, since the request waits for it.
    package let next: Next

    package init(count: Int, next: @escaping Next) {
        self.count = count
        self.next = next
    }
}

/// Carries the bytes of a ``HTTPBodySource`` to its transfer.
struct UploadFeed: Sendable {
    let source: HTTPBodySource
    let flow: Locked<UploadFlow>
    /// Tells the transfer that there are bytes, or that none will come.
    let wakeTransfer: @Sendable () -> Void

    /// Feeds until the end of the source or of the transfer.
    ///
    /// The last bytes are held back until the source has ended: a body that is too long must not pass for a whole one.
    func run() async {
        var left = source.count
        var last: [UInt8] = []
        do {
            while let part = try await source.next() {
                guard part.count <= left else { return fail("is longer than the \(source.count) bytes promised") }
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
        guard left == 0 else { return fail("ends \(left) bytes before the \(source.count) promised") }
        _ = await offer(last)
    }

    /// Waits until the bytes before are taken. False if the transfer is over.
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
