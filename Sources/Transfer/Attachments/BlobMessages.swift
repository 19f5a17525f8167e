internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import Logging
internal import LosslessJSON
internal import Rules

/// Logs incomplete blobs of documents that are written anyway.
final class BlobMessages: Sendable {
    private let messages = Locked(RepeatedMessages(last: "further blobs are not logged individually"))
    private let logger: Logger

    init(_ logger: Logger) { self.logger = logger }

    func log(_ problems: [DocumentBlobs.Problem], of id: DocumentID) {
        for problem in problems {
            messages.withLock { messages in
                messages.log(
                    "apps with Couchbase Lite do not show this blob", .warning, to: logger,
                    [LogKey.id: "\(id)", LogKey.reason: "\(problem)"])
            }
        }
    }
}
