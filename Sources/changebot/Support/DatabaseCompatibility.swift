internal import GatewayClient
internal import Rules

/// Checks whether a database accepts what rules write: CouchDB has no expiry, and a partitioned database accepts only
/// ids that name a partition.
struct DatabaseCompatibility {
    let gateway: Gateway
    let info: DatabaseInfo
    let writes: [LocatedWrite]

    /// Warnings about `expire`. Each ends with a remedy after a semicolon.
    var expiryWarnings: [RuleWarning] {
        guard !gateway.dialect.expiresDocuments else { return [] }
        return writes.compactMap { write in
            guard case .expiry = write.kind else { return nil }
            let server = gateway.dialect.name
            return write.warning(
                .noExpiry,
                write.isOfMapping
                    ? "documents don't expire on \(server), so an import rejects the documents of this rule; remove the "
                        + "action, or write the date as a member with merge"
                    : "documents don't expire on \(server), so a run with this rule exits with 78; remove the "
                        + "action, or write a date with merge and delete what is due with an 'at:' rule")
        }
    }

    /// Warnings about ids without a partition. Call ``Gateway/databaseInfo()`` first.
    var idWarnings: [RuleWarning] {
        guard info.isPartitioned else { return [] }
        return writes.compactMap { write in
            switch write.kind {
            case .expiry, .keyspace: return nil
            case .id(let id): return gateway.refusal(of: DocumentID(id)).flatMap { write.warning(.noPartition, $0) }
            case .computedID(let program):
                guard !Self.mayNamePartition(program) else { return nil }
                return write.warning(
                    .noPartition,
                    "the database is partitioned, but the program of this id gives no partition; put the partition and "
                        + "':' before its result")
            }
        }
    }

    /// The findings of the doctor's check `expiry` if a run with these rules is refused; otherwise none.
    var expiryFindings: [Finding] { expiryWarnings.map { Finding(.error, message: $0.finding) } }

    /// The findings of the doctor's check `ids`.
    func idFindings(hasRules: Bool) -> [Finding] {
        guard info.isPartitioned else { return [.ok("the database is not partitioned")] }
        guard hasRules else { return [.skipped("no valid rules given")] }
        let warnings = idWarnings.map { Finding(.warning, message: $0.finding) }
        return warnings.isEmpty ? [.ok("the database is partitioned; all ids in the rules have a partition")] : warnings
    }

    /// The findings of the doctor's check `keyspaces`.
    func keyspaceFindings(hasRules: Bool) async -> [Finding] {
        guard hasRules else { return [.skipped("no valid rules given")] }
        let names = Set(writes.compactMap { if case .keyspace(let name) = $0.kind { name } else { nil } })
        guard !names.isEmpty else { return [.skipped("no rule puts documents into another keyspace")] }
        do throws(GatewayError) {
            let warnings = try await keyspaceWarnings()
            guard warnings.isEmpty else { return warnings.map { Finding(.error, message: $0.finding) } }
            return [
                .ok(
                    "the gateway has the keyspaces that rules put documents into: \(AbbreviatedList.text(names.sorted()))"
                )
            ]
        } catch {
            return [Finding(.unknown, "can't find out which keyspaces the gateway has: \(error)")]
        }
    }

    /// Warnings about keyspaces that do not exist, or not for this user.
    func keyspaceWarnings() async throws(GatewayError) -> [RuleWarning] {
        var refusals: [String: String] = [:]
        var warnings: [RuleWarning] = []
        for write in writes {
            guard case .keyspace(let name) = write.kind else { continue }
            if refusals[name] == nil { refusals[name] = try await refusal(ofKeyspace: name) ?? "" }
            guard let refusal = refusals[name], !refusal.isEmpty else { continue }
            warnings += [
                write.warning(
                    .noKeyspace,
                    "there is no keyspace '\(name)' for this user, so the rule only creates dead letters; create the "
                        + "keyspace, or correct 'keyspace' (\(refusal))")
            ].compactMap(\.self)
        }
        return warnings
    }

    /// Why documents can't be put into the keyspace; nil if they can.
    private func refusal(ofKeyspace name: String) async throws(GatewayError) -> String? {
        let keyspace: KeyspaceName
        do throws(GatewayURLError) { keyspace = try KeyspaceName(name) } catch { return error.description }
        do throws(GatewayError) {
            var answer = try await gateway.sibling(keyspace).documents(limit: 1, includesDocuments: false)
            while try await answer.next() != nil {}
            return nil
        } catch {
            guard error.isAboutKeyspace || error.code == .notFound else { throw error }
            return error.message
        }
    }

    /// Whether the program may produce a partition: it contains a colon, or the id of a document, which has one.
    private static func mayNamePartition(_ program: String) -> Bool {
        program.contains(":") || program.contains("_id") || program.contains("$change.id")
    }
}
