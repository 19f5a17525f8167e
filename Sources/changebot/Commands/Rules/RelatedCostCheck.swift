internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Rules

/// Estimates how expensive it is for a gateway to find related documents.
struct RelatedCostCheck {
    let gateway: Gateway
    let contact: GatewayContact
    /// Whether to create missing indexes.
    let makesIndexes: Bool

    /// What the check has found.
    struct Result {
        var warnings: [RuleWarning] = []
        /// One line each, with the place in the rule file.
        var notes: [String] = []
    }

    /// - Throws: `RunError`, `CancellationError`; ``CommandError`` with 77 if this user may not create an index.
    func check(_ selectors: [LocatedSelector]) async throws -> Result {
        guard !selectors.isEmpty else { return Result(notes: ["no rule has related documents: nothing to check"]) }
        let info = try await contact.connect(to: gateway)
        let searched = selectors.filter { !$0.namesIDs }
        var result = Result(
            notes: selectors.filter(\.namesIDs).map { "\($0.place): reads the related documents by their ids" })
        guard !searched.isEmpty else { return result }
        let costs = gateway.dialect.findsDocuments ? try await checkIndexes(searched, info) : try await cost(searched)
        result.warnings += costs.warnings
        result.notes += costs.notes
        return result
    }

    // MARK: - CouchDB

    private func checkIndexes(_ selectors: [LocatedSelector], _ info: DatabaseInfo) async throws -> Result {
        var result = Result()
        for selector in selectors {
            let index = try await contact.ask { try await RelatedIndex.find(selector, gateway) }
            let explanation = index.explanation(info, of: gateway)
            switch index.availability {
            case .used: result.notes.append("\(selector.place): \(explanation)")
            case .missing where makesIndexes:
                try await make(index, info)
                result.notes.append(
                    "\(selector.place): created the index '\(index.name)'; CouchDB builds it at the next query")
            case .impossible, .missing:
                result.warnings += [selector.warning(.noIndex, explanation)].compactMap(\.self)
            }
        }
        return result
    }

    private func make(_ index: RelatedIndex, _ info: DatabaseInfo) async throws {
        let outcome: Swift.Result<Void, GatewayError> = try await contact.ask {
            do throws(GatewayError) {
                try await gateway.makeIndex(
                    named: index.name, fields: index.selector.indexFields, isPartitioned: info.isPartitioned)
                return .success(())
            } catch {
                guard error.code == .unauthorized || error.code == .forbidden else { throw error }
                return .failure(error)
            }
        }
        guard case .failure(let error) = outcome else { return }
        throw CommandError(
            .notAllowed, "\(error); only an administrator of the database can create an index: set another user")
    }

    // MARK: - Sync Gateway

    private func cost(_ selectors: [LocatedSelector]) async throws -> Result {
        let count = try await documentCount()
        let documents = count.map { "all \(Quantity.count($0, "document"))" } ?? "all documents"
        return Result(
            warnings: [],
            notes: selectors.map { selector in
                "\(selector.place): \(gateway.dialect.name) has no queries, so each batch of changes on which the rule "
                    + "fires reads \(documents) of this keyspace"
            })
    }

    /// Nil if this user may not list documents.
    private func documentCount() async throws -> Int? {
        var list = DocumentListReader(
            DocumentPages(of: gateway, includesDocuments: false), contact.makeRetrier())
        var count = 0
        while let batch = try await list.next() { count += batch.count }
        return list.isForbidden ? nil : count
    }
}
