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
        for id in Set((keys ?? []).map(\.id)).sorted() { noteRead(id, request.author) }
        let found = (keys ?? []).map { key -> (id: String, text: String, isFound: Bool) in
            guard let document = documents[key.id], let revision = document.revision(key.revision),
                !document.compacted.contains(key.revision)
            else {
                let error = #"{"id":"\#(key.id)","rev":"\#(key.revision)","error":"not_found","reason":"missing"}"#
                return (key.id, error, false)
            }
            return (key.id, text(of: revision, in: document, includesHistory: includesHistory), true)
        }
        let summary = found.map { $0.isFound ? $0.id : "\($0.id) missing" }.joined(separator: " ")
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
        let rows = try list.elements.compactMap { document -> String? in
            if let id = document["_id"]?.string, isRefused(document) {
                summary.append("\(id) refused")
                return row(id, "forbidden", "sealed", status: 403)
            }
            guard let stored = try replicate(document, author) else {
                throw UnknownRequest(summary: "a stub for an attachment that the revision before does not have")
            }
            summary.append(stored.summary)
            return dialect == .couchDB ? nil : #"{"id":"\#(stored.id)","rev":"\#(stored.revision)"}"#
        }
        return GatewayAnswer(
            status: 201, "[\(rows.joined(separator: ","))]",
            summary: summary.joined(separator: ", "))
    }

    /// `PUT doc?new_edits=false`: one revision, with attachments.
    func replicateOne(_ request: GatewayMessage) throws -> GatewayAnswer {
        guard request.query == ["new_edits": "false"] else { throw UnknownRequest(summary: request.summary) }
        let document = try JSONText(request.body).root
        if isRefused(document) {
            return GatewayAnswer(status: 403, #"{"error":"forbidden","reason":"sealed"}"#, summary: "refused")
        }
        guard let stored = try replicate(document, request.author) else {
            return GatewayAnswer(
                status: 412, #"{"error":"missing_stub","reason":"an attachment is missing"}"#, summary: "missing stub")
        }
        return GatewayAnswer(
            status: 201, #"{"ok":true,"id":"\#(stored.id)","rev":"\#(stored.revision)"}"#, summary: stored.summary)
    }

    private func isRefused(_ document: JSONValue) -> Bool {
        document["_deleted"]?.bool != true && refuses(document["_id"]?.string ?? "", DocumentBody(document))
    }

    /// - Returns: Nil if a stub is unknown.
    private func replicate(
        _ document: JSONValue, _ author: StoredRevision.Author
    ) throws -> (id: String, revision: String, summary: String)? {
        guard let id = document["_id"]?.string, let revision = document["_rev"]?.string,
            let start = document["_revisions"]?["start"]?.integer,
            let attachments = WrittenAttachment.all(of: document)
        else { throw UnknownRequest(summary: "a revision without its history, or an attachment without its data") }
        let ancestors = (document["_revisions"]?["ids"]?.elements.compactMap(\.string) ?? []).enumerated()
            .map { "\(start - $0.offset)-\($0.element)" }
        let isDeleted = document["_deleted"]?.bool == true
        guard
            replicate(
                id, DocumentBody(document), attachments, revision, ancestors, isDeleted: isDeleted, by: author)
        else { return nil }
        return (id, revision, "\(id) \(revision.short)\(isDeleted ? ", deleted" : "")")
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
