internal import HTTPServing
internal import LosslessJSON

extension Router {
    /// `/DB/_local/NAME`.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1.
    func localDocument(_ request: Request, _ name: String) async throws -> Answer {
        guard !name.isEmpty else { throw RequestError.unknownURL }
        switch request.method {
        case "GET", "HEAD": return try await getLocalDocument(name)
        case "PUT": return try await putLocalDocument(request, name)
        case "DELETE":
            try await store.deleteLocalDocument(name, replacing: request.query["rev"])
            return Answer(status: 200, body: .whole([]))
        default: throw RequestError.methodNotAllowed("DELETE, GET, HEAD, PUT")
        }
    }

    private func getLocalDocument(_ name: String) async throws -> Answer {
        guard let (revision, body) = try store.localDocument(name) else { throw RequestError.missing }
        let document = StoredDocument(
            id: "_local/\(name)", revision: "0-\(revision)", isDeleted: false, body: body)
        return .json(document.text())
    }

    /// The outcome for one `_local` document of a batch, with its whole id.
    typealias LocalOutcome = (id: String, outcome: Result<WrittenRevision, RequestError>)

    func writeLocalDocuments(_ documents: [JSONValue]) async throws -> [LocalOutcome] {
        var outcomes: [LocalOutcome] = []
        for object in documents {
            let id = object["_id"]?.string ?? ""
            do {
                let document = try IncomingDocument(object, isNew: false)
                let revision = try await store.writeLocalDocument(
                    String(id.dropFirst("_local/".count)), replacing: document.revision, body: document.body)
                let written = WrittenRevision(
                    id: StoredRevisionID(generation: 0, digest: String(revision)), version: nil)
                outcomes.append((id, .success(written)))
            } catch let error as RequestError { outcomes.append((id, .failure(error))) }
        }
        return outcomes
    }

    private func putLocalDocument(_ request: Request, _ name: String) async throws -> Answer {
        let document = try IncomingDocument(request.object(), isNew: false)
        let revision = try await store.writeLocalDocument(
            name, replacing: request.query["rev"] ?? document.revision, body: document.body)
        var body = JSONWriter()
        body.object { body in
            body.member("id", escaped: "_local/\(name)")
            body.member("ok", bool: true)
            body.member("rev", string: "0-\(revision)")
        }
        return .json(body.bytes, status: 201)
    }
}
