internal import Encodings
package import GatewayClient
internal import Locking
package import Logging
internal import LosslessJSON

/// Checks whether documents that a run writes have an expiry that is not kept: each write clears it.
///
/// Checks the first, second, fourth, eighth document and so on, with one request each.
package final class ExpiryWatch: Sendable {
    private struct State {
        var seen = 0
        var next = 1
        var hasWarned = false
    }

    /// The largest document that is checked.
    private static let maxCheckedBytes = 64 << 10
    /// The number of documents of a request that are tried to find an existing one.
    private static let candidates = 10

    private let state = Locked(State())

    /// Nothing is known yet.
    package init() {}

    /// Checks the documents of a write before it is sent. Logs a warning, once. Throws nothing: a failed request is
    /// ignored.
    package func check(_ documents: ArraySlice<BulkDocument>, at gateway: Gateway, _ logger: Logger) async {
        guard !gateway.keepsExpiry, gateway.dialect.expiresDocuments, isDue(documents.count) else { return }
        let update = documents.prefix(Self.candidates).first { document in
            guard document.byteCount <= Self.maxCheckedBytes,
                let text = try? JSONText(Array(document.segments.joined()))
            else {
                return false
            }
            return text.root["_rev"] != nil && text.root["_deleted"]?.bool != true
                && text.root[DocumentExpiry.member] == nil
        }
        guard let update else { return }
        await ask(update.id, gateway, logger)
    }

    /// Like ``check(_:at:_:)``, for documents that are copied from a source.
    package func check(copied ids: [DocumentID], from gateway: Gateway, _ logger: Logger) async {
        guard !gateway.keepsExpiry, gateway.dialect.expiresDocuments, isDue(ids.count), let id = ids.first else {
            return
        }
        await ask(id, gateway, logger)
    }

    /// Like ``check(_:at:_:)``, for documents that are copied to a target without expiry. The remedy differs.
    package func check(copied ids: [DocumentID], from gateway: Gateway, to target: Gateway, _ logger: Logger) async {
        guard gateway.dialect.expiresDocuments, isDue(ids.count), let id = ids.first else { return }
        await ask(id, gateway, logger, target)
    }

    /// Counts documents whose expiry the target can't keep. A warning names the first one.
    package func noteLost(_ expiries: [DocumentID: [UInt8]], at gateway: Gateway, to target: Gateway, _ logger: Logger)
    {
        guard let (id, expiry) = expiries.min(by: { $0.key.text < $1.key.text }) else { return }
        warn(id, expiry, gateway, logger, target)
    }

    private func isDue(_ count: Int) -> Bool {
        state.withLock { state in
            state.seen += count
            return !state.hasWarned && state.seen >= state.next
        }
    }

    private func ask(
        _ id: DocumentID, _ gateway: Gateway, _ logger: Logger, _ target: Gateway? = nil
    ) async {
        state.withLock { $0.next = $0.seen * 2 }
        guard let expiry = try? await gateway.expiry(of: id).expiry else { return }
        warn(id, expiry, gateway, logger, target)
    }

    /// - Parameter target: The target of the copies, if it does not support expiry.
    private func warn(
        _ id: DocumentID, _ expiry: [UInt8], _ gateway: Gateway, _ logger: Logger, _ target: Gateway?
    ) {
        let isFirst = state.withLock { state in
            defer { state.hasWarned = true }
            return !state.hasWarned
        }
        guard isFirst else { return }
        var metadata: Logger.Metadata = [
            LogKey.id: "\(id)", LogKey.expiry: "\(String(decoding: expiry, as: UTF8.self).filter { $0 != "\"" })",
            LogKey.gateway: "\(gateway.url)",
        ]
        guard let target else {
            logger.warning(
                "documents of this database expire, but lose their expiry when written; add --keep-expiry",
                metadata: metadata)
            return
        }
        metadata[LogKey.target] = "\(target.url)"
        logger.warning(
            "documents of the source expire, but this target does not support expiry and keeps them",
            metadata: metadata)
    }
}
