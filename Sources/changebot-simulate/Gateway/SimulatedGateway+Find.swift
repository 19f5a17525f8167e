internal import GatewayClient
internal import LosslessJSON

extension SimulatedGateway {
    /// `POST _find` of CouchDB: the ids of live documents that a selector matches.
    func find(_ request: GatewayMessage) throws -> GatewayAnswer {
        let root = try JSONText(request.body).root
        guard dialect == .couchDB, let selector = root["selector"], root["bookmark"] == nil,
            root["fields"]?.elements.compactMap(\.string) == ["_id"]
        else { throw UnknownRequest(summary: request.summary) }
        let found = try ids.filter { id in
            guard let body = documents[id]?.body else { return false }
            return try Self.matches(body, selector)
        }
        let rows = found.sorted().map { #"{"_id":"\#($0)"}"# }.joined(separator: ",\n")
        return GatewayAnswer(
            "{\"docs\":[\n\(rows)\n],\n\"bookmark\":\"nil\"}\n", summary: "\(found.count) documents")
    }

    /// Equality of members, and `$and`: what the rules of the simulation need.
    private static func matches(_ body: DocumentBody, _ selector: JSONValue) throws -> Bool {
        try selector.members.allSatisfy { member in
            let name = member.name.string ?? ""
            if name == "$and" { return try member.value.elements.allSatisfy { try matches(body, $0) } }
            let wanted = member.value["$eq"] ?? member.value
            guard !name.hasPrefix("$"), wanted.kind == .string else {
                throw UnknownRequest(summary: "the selector \(String(decoding: selector.bytes, as: UTF8.self))")
            }
            return body[name] == String(decoding: wanted.bytes, as: UTF8.self)
        }
    }
}
