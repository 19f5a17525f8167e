internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// Tells whether a CouchDB has an index for a selector of related documents.
struct RelatedIndex {
    enum Availability: Equatable {
        /// - Parameter name: Nil: the selector searches by id, which every database can do.
        case used(name: String?)
        /// The selector fixes no field, so no index can serve it.
        case impossible
        case missing
    }

    let selector: LocatedSelector
    let availability: Availability

    /// Asks the server which index it would use.
    static func find(_ selector: LocatedSelector, _ gateway: Gateway) async throws(GatewayError) -> RelatedIndex {
        let index = try await gateway.indexForQuery(selector.example)
        return RelatedIndex(selector: selector, availability: availability(selector, index))
    }

    private static func availability(_ selector: LocatedSelector, _ index: QueryIndex) -> Availability {
        if !index.isEveryDocument { return .used(name: index.name) }
        if selector.searchesIDRange { return .used(name: nil) }
        return selector.indexFields.isEmpty ? .impossible : .missing
    }

    /// The result as text for people, with a remedy if there is a problem.
    func explanation(_ info: DatabaseInfo, of gateway: Gateway) -> String {
        let documents = info.documentCount.map { "all \(Quantity.count($0, "document"))" } ?? "all documents"
        switch availability {
        case .used(let name): return "uses the index \(name.map { "'\($0)'" } ?? "of ids")"
        case .impossible:
            return "no index can serve this selector, so each change reads \(documents); "
                + "add the value of a field, such as type: task"
        case .missing:
            let fields = selector.indexFields.joined(separator: ", ")
            return "there is no index on \(fields), so each change reads \(documents); "
                + "create it with rules check --make-indexes, or POST \(request(info)) to \(gateway.url)/_index"
        }
    }

    /// Depends only on the fields, so that rules can share an index.
    var name: String { "changebot-" + selector.indexFields.joined(separator: "-") }

    /// The body of the request that creates the index.
    private func request(_ info: DatabaseInfo) -> String {
        var writer = JSONWriter()
        writer.object { writer in
            writer.name("index")
            writer.object { writer in
                writer.name("fields")
                writer.array { writer in for field in selector.indexFields { writer.string(field) } }
            }
            writer.member("name", string: name)
            if info.isPartitioned { writer.member("partitioned", bool: false) }
        }
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension LocatedSelector {
    /// `PATH:LINE:COLUMN: rule 'NAME'`.
    var place: String { "\(path):\(position.line):\(position.column): rule '\(rule)'" }
}
