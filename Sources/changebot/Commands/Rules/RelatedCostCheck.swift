internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// Finds out what it costs a gateway to find related documents.
struct RelatedCostCheck {
    let gateway: Gateway
    let contact: GatewayContact
    /// Whether indexes that are missing are made.
    let makesIndexes: Bool

    /// What the check has found.
    struct Result {
        /// One line each, with the place in the rule file.
        var warnings: [String] = []
        var notes: [String] = []
    }

    /// - Throws: `RunError`, `CancellationError`; ``CommandError`` with 77 if an index can't be made.
    func check(_ selectors: [PlacedSelector]) async throws -> Result {
        guard !selectors.isEmpty else { return Result(notes: ["no rule has related documents: nothing to check"]) }
        let info = try await contact.connect(to: gateway)
        return gateway.dialect.findsDocuments ? try await checkIndexes(selectors, info) : try await cost(selectors)
    }

    // MARK: - CouchDB

    private func checkIndexes(_ selectors: [PlacedSelector], _ info: DatabaseInfo) async throws -> Result {
        var result = Result()
        let documents = info.documentCount.map { "all \(Quantity.count($0, "document"))" } ?? "all documents"
        for selector in selectors {
            let index = try await contact.ask { try await gateway.indexForQuery(selector.example) }
            guard index.isEveryDocument, !selector.asksForIDs else {
                let name = index.isEveryDocument ? "of ids" : "'\(index.name)'"
                result.notes.append("\(selector.place): uses the index \(name)")
                continue
            }
            guard !selector.indexFields.isEmpty else {
                result.warnings.append(
                    "\(selector.place): no index can serve this selector, so each change reads \(documents); "
                        + "say a field's value: type: task")
                continue
            }
            guard makesIndexes else {
                result.warnings.append(
                    "\(selector.place): there is no index on \(selector.fieldList), so each change reads \(documents); "
                        + "add --make-indexes, or post \(selector.indexRequest) to \(gateway.url)/_index")
                continue
            }
            try await makeIndex(for: selector)
            result.notes.append(
                "\(selector.place): made the index '\(selector.indexName)'; CouchDB builds it at the next query")
        }
        return result
    }

    private func makeIndex(for selector: PlacedSelector) async throws {
        let outcome: Swift.Result<Void, GatewayError> = try await contact.ask {
            do throws(GatewayError) {
                try await gateway.makeIndex(named: selector.indexName, fields: selector.indexFields)
                return .success(())
            } catch {
                guard error.code == .unauthorized || error.code == .forbidden else { throw error }
                return .failure(error)
            }
        }
        guard case .failure(let error) = outcome else { return }
        throw CommandError(
            .notAllowed, "\(error); an index is made by an administrator of the database: set another user")
    }

    // MARK: - Sync Gateway

    private func cost(_ selectors: [PlacedSelector]) async throws -> Result {
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

extension PlacedSelector {
    fileprivate var place: String { "\(path):\(position.line):\(position.column): rule '\(rule)'" }

    fileprivate var fieldList: String { indexFields.joined(separator: ", ") }

    /// The same for the same fields, so that two rules share an index.
    fileprivate var indexName: String { "changebot-" + indexFields.joined(separator: "-") }

    /// The body of the request that makes the index.
    fileprivate var indexRequest: String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.name("index")
            writer.object { writer in
                writer.name("fields")
                writer.array { writer in for field in indexFields { writer.string(field) } }
            }
            writer.member("name", string: indexName)
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
