internal import GatewayClient
internal import Rules

/// Whether a database can take what rules write: CouchDB knows no expiry, and a partitioned database takes only ids that
/// name a partition.
struct DatabaseFit {
    let gateway: Gateway
    let info: DatabaseInfo
    let writes: [LocatedWrite]

    /// One line each: the place, what is so, and after a semicolon the remedy.
    var expiryWarnings: [String] {
        guard !gateway.dialect.expiresDocuments else { return [] }
        return writes.compactMap { write in
            guard case .expiry = write.kind else { return nil }
            return "\(write.place): documents don't expire on \(gateway.dialect.name), so a run with this rule exits "
                + "with 78; remove the action, or write a date with merge and delete what is due with an 'at:' rule"
        }
    }

    /// The same for ids without a partition. ``Gateway/databaseInfo()`` must have been asked before.
    var idWarnings: [String] {
        guard info.isPartitioned else { return [] }
        return writes.compactMap { write in
            switch write.kind {
            case .expiry: return nil
            case .id(let id): return gateway.refusal(of: DocumentID(id)).map { "\(write.place): \($0)" }
            case .computedID(let program):
                guard !Self.mayNamePartition(program) else { return nil }
                return "\(write.place): the database is partitioned, and the program of this id names no partition; "
                    + "put the partition and ':' before what it gives"
            }
        }
    }

    /// The check `ids` of the doctor.
    func idFindings(hasRules: Bool) -> [Finding] {
        guard info.isPartitioned else { return [.ok("the database is not partitioned")] }
        guard hasRules else { return [.skipped("no valid rules given")] }
        let warnings = idWarnings.map { Finding(.warning, message: $0) }
        return warnings.isEmpty ? [.ok("the database is partitioned; no id of the rules lacks a partition")] : warnings
    }

    /// Whether the program has a colon, or begins with the id of a document, which has a partition.
    private static func mayNamePartition(_ program: String) -> Bool {
        program.contains(":") || program.contains("_id") || program.contains("$change.id")
    }
}

extension LocatedWrite {
    fileprivate var place: String { "\(path):\(position.line):\(position.column): rule '\(rule)'" }
}
