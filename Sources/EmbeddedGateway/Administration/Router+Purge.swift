internal import GRDB
internal import HTTPServing
internal import LosslessJSON

extension Router {
    /// `POST /DB/_purge` with `{"ID":["*"]}`: removes documents without a trace. They are in no feed afterwards.
    ///
    /// - Note: Source: recorded and tried, Sync Gateway 4.1.1: only `["*"]` names all revisions; other values, and
    ///   missing documents, are skipped.
    func purge(_ request: Request) async throws -> Answer {
        guard request.method == "POST" else { throw RequestError.methodNotAllowed("POST") }
        let isNull = (try? JSONText(request.body).root.kind) == .null
        let object = try? request.object()
        guard isNull || object != nil else {
            throw RequestError(400, "_purge document ID's must be passed as a JSON")
        }
        var purged: [String] = []
        for member in object.map({ Array($0.members) }) ?? [] {
            guard member.value.elements.map({ $0.string }) == ["*"], let id = member.name.string else { continue }
            if try await store.purge(id) { purged.append(id) }
        }
        let lines = purged.map { id in
            var line = JSONWriter()
            line.string(id)
            return String(decoding: line.bytes, as: UTF8.self) + " : [\"*\"]\n"
        }
        return .json(
            Array(("{\"purged\":{\r\n" + lines.joined(separator: ",") + "}\n}\n").utf8), fields: [.neverCached])
    }
}

extension Store {
    /// Removes a document with all its revisions. Its sequence is not used again.
    ///
    /// - Returns: False if there is no such document.
    func purge(_ id: String) async throws -> Bool {
        try await database.write { [self] db in
            guard let current = try CurrentDocument.find(id, in: collection, db) else { return false }
            var writer = try DocumentWriter(db, self, .administrator)
            try writer.purge(current.key)
            _ = try writer.finish()
            return true
        }
    }
}
