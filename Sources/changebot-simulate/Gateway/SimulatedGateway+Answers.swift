internal import GatewayClient
internal import LosslessJSON
internal import TestKit

/// A request as the simulated gateway gets it.
struct GatewayMessage {
    let method: String
    /// Decoded, without the database.
    let path: String
    let query: [String: String]
    var body: [UInt8]
    let author: StoredRevision.Author
    /// Whether the answer may be compressed.
    var acceptsGzip = false
    /// How late the node that gets it sees writes.
    var lag = Duration.zero
    /// With this number, every second document on average can't be written; nil: all can.
    var failing: UInt64?

    /// For the story.
    var summary: String {
        let flags = query.keys.sorted().compactMap { name in
            query[name].map { "\(name)=\($0)" }
        }
        return "\(method) \(path.isEmpty ? "/" : path)" + (flags.isEmpty ? "" : "?" + flags.joined(separator: "&"))
    }
}

struct GatewayAnswer {
    var status = 200
    var body: [UInt8]
    /// For the story.
    var summary = ""
    var headers: [(name: String, value: String)] = []
    /// The position that a feed has reached, as JSON text.
    var reached: String?
    /// The revisions that were written.
    var written: [(id: String, revision: String)] = []

    init(status: Int = 200, _ body: String, summary: String = "") {
        (self.status, self.body, self.summary) = (status, Array(body.utf8), summary)
    }
}

/// A request that the simulated gateway does not know: the simulation must be extended.
struct UnknownRequest: Error {
    let summary: String
}

extension SimulatedGateway {
    var serverHeader: String {
        dialect == .couchDB ? "CouchDB/3.5.0 (Erlang OTP/25)" : "Couchbase Sync Gateway/4.1.1 CE"
    }

    /// - Parameter reply: Called once, now or later.
    func answer(_ request: GatewayMessage, _ reply: @escaping (GatewayAnswer) -> Void) throws {
        switch (request.method, request.path) {
        case ("GET", "/"): reply(GatewayAnswer(greeting))
        case ("GET", ""): reply(GatewayAnswer(information))
        case ("GET", "_changes"): try changes(request, reply)
        case ("POST", "_all_docs"): reply(try lookUp(request))
        case ("GET", "_all_docs"): reply(try list(request))
        case ("POST", "_bulk_get"): reply(try revisions(request))
        case ("POST", "_bulk_docs") where isTooLarge(request):
            reply(error(413, "too_large", "the request entity is too large"))
        case ("POST", "_bulk_docs"): reply(try writeAll(request))
        case ("GET", let path) where path.hasPrefix("_local/"): reply(localDocument(path))
        case ("GET", let path) where !path.hasPrefix("_") && !path.contains("/"): reply(try document(path, request))
        case ("GET", let path) where !path.hasPrefix("_"): reply(try attachment(path, request))
        case ("PUT", let path) where path.hasPrefix("_local/"): reply(try writeLocal(path, request.body))
        case ("PUT", let path) where !path.hasPrefix("_"): reply(try replicateOne(request))
        case ("POST", "_find"): reply(try find(request))
        default: throw UnknownRequest(summary: request.summary)
        }
    }

    /// A single document is never too large.
    private func isTooLarge(_ request: GatewayMessage) -> Bool {
        guard let requestLimit, request.body.count > requestLimit else { return false }
        return (try? JSONText(request.body))?.root["docs"]?.elements.dropFirst().first { _ in true } != nil
    }

    private var greeting: String {
        dialect == .couchDB
            ? #"{"couchdb":"Welcome","version":"3.5.0","git_sha":"11f0d36","uuid":"0123456789abcdef0123456789abcdef","features":["quickjs"],"vendor":{"name":"The Apache Software Foundation"}}"#
            : #"{"couchdb":"Welcome","vendor":{"name":"Couchbase Sync Gateway","version":"4.1"},"version":"Couchbase Sync Gateway/4.1.1(0;6bdbe7d) CE","persistent_config":false,"node_uid":"439c55ee28515110c45a1624c4d35eac"}"#
    }

    private var information: String {
        let sequence = positions.json(visible, salt: UInt64(startTime))
        return dialect == .couchDB
            ? #"{"instance_start_time":"\#(startTime)","db_name":"todo","purge_seq":"0-g1","update_seq":\#(sequence),"sizes":{"file":1,"external":1,"active":1},"props":{},"doc_del_count":0,"doc_count":\#(ids.count),"disk_format_version":8,"compact_running":false,"cluster":{"q":2,"n":1,"w":1,"r":1}}"#
            : #"{"db_name":"todo","update_seq":\#(sequence),"committed_update_seq":\#(sequence),"instance_start_time":179\#(startTime),"compact_running":false,"purge_seq":0,"disk_format_version":0,"state":"Online"}"#
    }

    // MARK: - _changes

    private func changes(_ request: GatewayMessage, _ reply: @escaping (GatewayAnswer) -> Void) throws {
        guard let since = start(since: request.query["since"] ?? "0") else {
            return reply(error(400, "bad_request", "invalid since"))
        }
        if since.allSatisfy({ $0 == 0 }) { observer.noteFeedFromBeginning() }
        let lag = request.lag
        let found = changes(after: since, lag: lag)
        let isLongpoll = request.query["feed"] == "longpoll"
        guard request.query["feed"] == nil || isLongpoll else { throw UnknownRequest(summary: request.summary) }
        guard found.rows.isEmpty, isLongpoll else { return reply(feed(found, request)) }
        let timeout = Int(request.query["timeout"] ?? "") ?? 60_000
        // A skipped change may have arrived meanwhile.
        let answer = { [self] in
            reply(feed(changes(after: start(since: request.query["since"] ?? "0") ?? since, lag: lag), request))
        }
        wait(.milliseconds(timeout)) { [scheduler] in lag > .zero ? scheduler.after(lag, answer) : answer() }
    }

    /// While Sync Gateway still waits for the sequence after `LOW`, `LOW::SEQUENCE` continues after `SEQUENCE`. Otherwise,
    /// and for a checkpoint, all changes after `LOW` are repeated.
    private func start(since text: String) -> [Int]? {
        let parts = text.split(separator: "::").compactMap { Int($0) }
        guard parts.count == 2, parts[0] + 1 == skipped.min() else { return positions.position(text) }
        return [parts[1]]
    }

    private func feed(
        _ found: (rows: [(document: StoredDocument, reached: [Int])], end: [Int]), _ request: GatewayMessage
    ) -> GatewayAnswer {
        let includesDocuments = request.query["include_docs"] == "true"
        let listsLeaves = request.query["style"] == "all_docs"
        let rows = found.rows.compactMap { document, reached -> String? in
            guard let winner = document.winner else { return nil }
            // Sync Gateway does not list deleted branches.
            let leaves =
                listsLeaves
                ? document.leaves.filter { dialect == .couchDB || !$0.isDeleted || $0.id == winner.id } : [winner]
            let revisions = leaves.map { #"{"rev":"\#($0.id)"}"# }.joined(separator: ",")
            let deleted = winner.isDeleted ? #","deleted":true"# : ""
            let body = includesDocuments ? #","doc":\#(text(of: winner, document.id))"# : ""
            return #"{"seq":\#(sequence(reached)),"id":"\#(document.id)"\#(body),"changes":[\#(revisions)]\#(deleted)}"#
        }
        let reached = sequence(found.end)
        let last = reached.hasPrefix("\"") ? reached : "\"\(reached)\""
        var answer = GatewayAnswer(
            "{\"results\":[\n\(rows.joined(separator: "\n,"))\n],\n\"last_seq\":\(last)}\n",
            summary: "\(rows.count) change\(rows.count == 1 ? "" : "s") up to \(reached)")
        answer.reached = reached
        return answer
    }

    /// CouchDB writes its members first, and Sync Gateway last.
    func text(of revision: StoredRevision, _ id: String) -> String {
        let own = #""_id":"\#(id)","_rev":"\#(revision.id)""# + (revision.isDeleted ? #","_deleted":true"# : "")
        let body = String(decoding: revision.body.bytes, as: UTF8.self)
        let attachments = revision.attachments.member
        let parts = dialect == .couchDB ? [own, body, attachments] : [body, own, attachments]
        return "{\(parts.filter { !$0.isEmpty }.joined(separator: ","))}"
    }

    // MARK: - Documents

    func noteRead(_ id: String, _ author: StoredRevision.Author) {
        if let document = documents[id] { observer.noteRead(document, author) }
    }

    private func document(_ id: String, _ request: GatewayMessage) throws -> GatewayAnswer {
        noteRead(id, request.author)
        if request.query == ["open_revs": "all"] { return leaves(id) }
        guard request.query.keys.allSatisfy({ ["rev", "show_exp"].contains($0) }) else {
            throw UnknownRequest(summary: request.summary)
        }
        guard let document = documents[id], let winner = document.winner else {
            return error(404, "not_found", "missing")
        }
        if let revision = request.query["rev"] {
            guard let found = document.revision(revision), !document.compacted.contains(revision) else {
                return error(404, "not_found", "missing")
            }
            return GatewayAnswer(sortedText(of: found, id))
        }
        return winner.isDeleted ? error(404, "not_found", "deleted") : GatewayAnswer(sortedText(of: winner, id))
    }

    /// In this answer, Sync Gateway sorts the members.
    private func sortedText(of revision: StoredRevision, _ id: String) -> String {
        guard dialect == .syncGateway else { return text(of: revision, id) }
        let own =
            [
                ("_id", #""_id":"\#(id)""#), ("_rev", #""_rev":"\#(revision.id)""#),
            ] + (revision.isDeleted ? [("_deleted", #""_deleted":true"#)] : [])
            + (revision.attachments.isEmpty ? [] : [("_attachments", revision.attachments.member)])
        let members = own + revision.body.members.map { ($0.name, String(decoding: $0.bytes, as: UTF8.self)) }
        return "{\(members.sorted { $0.0 < $1.0 }.map(\.1).joined(separator: ","))}"
    }

    private func attachment(_ path: String, _ request: GatewayMessage) throws -> GatewayAnswer {
        let parts = path.split(separator: "/", maxSplits: 1).map(String.init)
        guard parts.count == 2, request.query.keys.allSatisfy({ $0 == "rev" }) else {
            throw UnknownRequest(summary: request.summary)
        }
        let document = documents[parts[0]]
        let revision = request.query["rev"].map { document?.revision($0) } ?? document?.winner
        guard let revision, !revision.isDeleted else { return error(404, "not_found", "missing") }
        guard let found = revision.attachments[parts[1]] else {
            let reason =
                dialect == .couchDB ? "Document is missing attachment" : "missing attachment \(parts[1])"
            return error(404, "not_found", reason)
        }
        var answer = GatewayAnswer("", summary: found.digest)
        answer.body = found.content
        let ranges = dialect == .couchDB && found.isCompressed ? "none" : "bytes"
        let tag = dialect == .couchDB ? String(found.digest.dropFirst("md5-".count)) : found.digest
        answer.headers = [("Content-Type", found.type), ("Accept-Ranges", ranges), ("ETag", "\"\(tag)\"")]
        if dialect == .couchDB, found.isCompressed, request.acceptsGzip {
            answer.body = found.compressed
            answer.headers.append(("Content-Encoding", "gzip"))
        }
        return answer
    }

    private func lookUp(_ request: GatewayMessage) throws -> GatewayAnswer {
        let keys = (try JSONText(request.body)).root["keys"]?.elements.compactMap(\.string) ?? []
        let includesDocuments = request.query["include_docs"] == "true"
        let rows = keys.map { key -> String in
            observer.noteLookup(key, documents[key]?.winner, request.author)
            noteRead(key, request.author)
            guard let document = documents[key], let winner = document.winner else {
                return #"{"key":"\#(key)","error":"not_found"}"#
            }
            if winner.isDeleted {
                guard dialect == .couchDB else { return #"{"key":"\#(key)","error":"not_found","status":404}"# }
                return #"{"id":"\#(key)","key":"\#(key)","value":{"rev":"\#(winner.id)","deleted":true},"doc":null}"#
            }
            let body = includesDocuments ? #","doc":\#(text(of: winner, key))"# : ""
            return #"{"key":"\#(key)","id":"\#(key)","value":{"rev":"\#(winner.id)"}\#(body)}"#
        }
        return GatewayAnswer(
            "{\"rows\":[\n\(rows.joined(separator: ",\n"))\n]}\n", summary: keys.joined(separator: " "))
    }

    private func writeAll(_ request: GatewayMessage) throws -> GatewayAnswer {
        let root = try JSONText(request.body).root
        guard let list = root["docs"] else { throw UnknownRequest(summary: request.summary) }
        if root["new_edits"]?.bool == false { return try replicate(list, request.author) }
        var summary: [String] = []
        var written: [(id: String, revision: String)] = []
        var numbers = request.failing.map { SplitMix64(seed: $0) }
        let rows = try list.elements.map { document -> String in
            let id = document["_id"]?.string ?? ""
            guard let attachments = WrittenAttachment.all(of: document) else {
                throw UnknownRequest(summary: "an attachment of \(id) without data")
            }
            if numbers?.chance(2) == true {
                summary.append("\(id) failed")
                return failedRow(id, isTemporary: numbers?.chance(2) == true)
            }
            let result = write(
                id, DocumentBody(document), attachments, isDeleted: document["_deleted"]?.bool == true,
                replacing: document["_rev"]?.string, by: request.author)
            switch result {
            case .written(let revision):
                summary.append("\(id) \(revision.short)")
                written.append((id, revision))
                return #"{"id":"\#(id)","rev":"\#(revision)"\#(dialect == .couchDB ? #","ok":true"# : "")}"#
            case .refused:
                summary.append("\(id) refused")
                return row(id, "forbidden", "sealed", status: 403)
            case .unknownStub: throw UnknownRequest(summary: "a stub of \(id) for an attachment that it does not have")
            case .conflict:
                summary.append("\(id) conflict")
                return row(id, "conflict", "Document update conflict", status: 409)
            }
        }
        var answer = GatewayAnswer(
            status: 201, "[\(rows.joined(separator: ","))]", summary: summary.joined(separator: ", "))
        answer.written = written
        return answer
    }

    private func failedRow(_ id: String, isTemporary: Bool) -> String {
        isTemporary
            ? row(id, "service_unavailable", "busy", status: 503)
            : row(id, "internal_server_error", "no quorum", status: 500)
    }

    /// CouchDB's rows have no status.
    func row(_ id: String, _ error: String, _ reason: String, status: Int) -> String {
        let status = dialect == .couchDB ? "" : #","status":\#(status)"#
        return #"{"id":"\#(id)","error":"\#(error)","reason":"\#(reason)"\#(status)}"#
    }

    // MARK: - _local

    private func localDocument(_ path: String) -> GatewayAnswer {
        guard let found = content.localDocuments[path], !losesMarks else { return error(404, "not_found", "missing") }
        let body = String(decoding: found.body, as: UTF8.self)
        return GatewayAnswer(#"{"_id":"\#(path)","_rev":"0-\#(found.writes)"\#(body.isEmpty ? "" : ",")\#(body)}"#)
    }

    private func writeLocal(_ path: String, _ body: [UInt8]) throws -> GatewayAnswer {
        let root = try JSONText(body).root
        let writes = content.localDocuments[path]?.writes ?? 0
        let given = root["_rev"]?.string
        // CouchDB does not compare the revision, and counts on from it.
        if dialect == .syncGateway, given ?? "0-0" != "0-\(writes)" {
            return error(409, "conflict", "Document update conflict")
        }
        let base = dialect == .couchDB ? Int(given?.dropFirst(2) ?? "0") ?? 0 : writes
        content.localDocuments[path] = (base + 1, DocumentBody(root).bytes)
        observer.noteLocalWrite(path, root)
        return GatewayAnswer(status: 201, #"{"id":"\#(path)","ok":true,"rev":"0-\#(base + 1)"}"#)
    }

    private func error(_ status: Int, _ error: String, _ reason: String) -> GatewayAnswer {
        GatewayAnswer(status: status, #"{"error":"\#(error)","reason":"\#(reason)"}"#)
    }
}

extension String {
    /// A revision for the story: its generation and the end of its digest.
    var short: String { "\(prefix { $0 != "-" })-\(suffix(4))" }
}
