internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import Logging
internal import Revisions

/// Leaves design documents out if the target's dialect has none: Sync Gateway refuses them all, because its functions
/// and indexes are set up in another way.
struct OmittedDesignDocuments: Sendable {
    private let target: Gateway
    private let report: ReplicationReport
    private let logger: Logger
    private let isLogged = Locked(false)

    init(target: Gateway, report: ReplicationReport, logger: Logger) {
        self.target = target
        self.report = report
        self.logger = logger
    }

    /// The documents that the target can have. The revisions of the others are counted, and the first is logged.
    func omit(from documents: [ChangedDocument]) -> [ChangedDocument] {
        guard !target.dialect.hasDesignDocuments else { return documents }
        let omitted = documents.filter { $0.id.text.hasPrefix("_design/") }
        guard let first = omitted.first else { return documents }
        report.count { $0.filtered += omitted.reduce(0) { $0 + $1.revisions.count } }
        let isFirst = isLogged.withLock { isLogged in
            defer { isLogged = true }
            return !isLogged
        }
        if isFirst {
            logger.notice(
                "design documents are left out: the target does not accept them",
                metadata: [
                    LogKey.id: "\(first.id)", LogKey.target: "\(target.url)",
                    LogKey.dialect: "\(target.dialect.rawValue)",
                ])
        }
        return documents.filter { !$0.id.text.hasPrefix("_design/") }
    }
}
