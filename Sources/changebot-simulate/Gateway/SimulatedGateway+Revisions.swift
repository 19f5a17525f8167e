internal import GatewayClient
internal import LosslessJSON

/// Requests for revisions other than the winner, and for storing revisions with their ids.
extension SimulatedGateway {
    private static let boundary = "simulated0boundary"

    /// `POST _bulk_get`: CouchDB answers in JSON, and Sync Gateway in multipart.
    func revisions(_ request: GatewayMessage) throws -> GatewayAnswer {
        guard request.query.keys.allSatisfy({ $0 == "revs" }) else { throw UnknownRequest(summary: request.summary) }
        let includesHistory = request.query["revs"] == "true"
        let keys = (try JSONText(request.body)).root["docs"]?.elements.map { key in
            (id: key["id"]?.string ?? "", revision: key["rev"]?.string ?? "")
        }
        let found = (keys ?? []).map { key -> (id: String, text: String, isFound: Bool) in
            guard let document = documents[key.id], let revision = document.revision(key.revision) else {
                let error = #"{"id":"\#(key.id)","rev":"\#(key.revision)","error":"not_found","reason":"missing"}"#
                return (key.id, error, false)
            }
            return (key.id, text(of: revision, in: document, includesHistory: includesHistory), true)
        }
        let summary = found.map(\.id).joined(separator: " ")
        guard dialect == .syncGateway else {
            let rows = found.map { #"{"id":"\#($0.id)","docs":[{"\#($0.isFound ? "ok" : "error")":\#($0.text)}]}"# }
            return GatewayAnswer("{\"results\":[\(rows.joined(separator: ","))]}\n", summary: summary)
        }
        let parts = found.map { part in
            "--\(Self.boundary)\r\nContent-Type: application/json\(part.isFound ? "" : "; error=\"true\"")\r\n\r\n\(part.text)\r\n"
        }
        var answer = GatewayAnswer("\(parts.joined())--\(Self.boundary)--", summary: summary)
        answer.headers = [("Content-Type", "multipart/mixed; boundary=\"\(Self.boundary)\"")]
        return answer
    }

    /// `GET doc?open_revs=all`: all leaves.
    func leaves(_ id: String) -> GatewayAnswer {
        guard let document = documents[id] else {
            return GatewayAnswer(status: 404, #"{"error":"not_found","reason":"missing"}"#)
        }
        let rows = document.leaves.map { #"{"ok":\#(text(of: $0, in: document, includesHistory: false))}"# }
        return GatewayAnswer("[\(rows.joined(separator: "\n,"))]\n", summary: "\(rows.count) leaves")
    }

    /// `POST _bulk_docs` with `"new_edits":false`: the revisions keep their ids, and nothing is a conflict.
    func replicate(_ list: JSONValue, _ author: StoredRevision.Author) throws -> GatewayAnswer {
        var summary: [String] = []
        let rows = try list.elements.map { document -> String in
            guard let id = document["_id"]?.string, let revision = document["_rev"]?.string,
                let start = document["_revisions"]?["start"]?.integer, document["_attachments"] == nil
            else { throw UnknownRequest(summary: "a revision without its history, or with attachments") }
            let ancestors = (document["_revisions"]?["ids"]?.elements.compactMap(\.string) ?? []).enumerated()
                .map { "\(start - $0.offset)-\($0.element)" }
            let isDeleted = document["_deleted"]?.bool == true
            replicate(id, DocumentBody(document), revision, ancestors, isDeleted: isDeleted, by: author)
            summary.append("\(id) \(revision.short)\(isDeleted ? ", deleted" : "")")
            return #"{"id":"\#(id)","rev":"\#(revision)"}"#
        }
        return GatewayAnswer(
            status: 201, dialect == .couchDB ? "[]" : "[\(rows.joined(separator: ","))]",
            summary: summary.joined(separator: ", "))
    }

    private func text(of revision: StoredRevision, in document: StoredDocument, includesHistory: Bool) -> String {
        let text = text(of: revision, document.id)
        guard includesHistory else { return text }
        var ids: [String] = []
        var next: StoredRevision? = revision
        while let one = next {
            ids.append("\"\(one.id.drop { $0 != "-" }.dropFirst())\"")
            next = one.parent.flatMap(document.revision)
        }
        let history = #""_revisions":{"start":\#(revision.generation),"ids":[\#(ids.joined(separator: ","))]}"#
        return "\(text.dropLast()),\(history)}"
    }
}
