internal import HTTPServing
internal import LosslessJSON
internal import SyncFunctions

extension Router {
    /// The paths that only the administrative port has: users, roles, the sync function and its resync, and the purge.
    /// Nil for other paths.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1.
    func administration(_ request: Request, _ path: [String]) async throws -> Answer? {
        switch (path[0], path.count) {
        case ("_user", 1...2), ("_role", 1...2):
            let name = path.count == 2 ? path[1] : ""
            return try await principal(request, name, isRole: path[0] == "_role")
        case ("_raw", 2): return try raw(request, path[1])
        case ("_config", 1) where request.method == "POST" || request.method == "PUT":
            let settings = try request.object()
            guard let source = settings["sync"]?.string, settings.members.allSatisfy({ $0.name.string == "sync" })
            else {
                throw RequestError(400, "only \"sync\" can be changed")
            }
            store.function.set(try newFunction(source))
            return Answer(status: 201, fields: [], body: .whole([]))
        case ("_config", 1): return configuration()
        case ("_config", 2) where path[1] == "sync": return try await syncFunction(request)
        case ("_resync", 1): return try await resync(request)
        case ("_purge", 1): return try await purge(request)
        default: return nil
        }
    }

    /// `GET /DB/_config`: the database's name and collections.
    private func configuration() -> Answer {
        let names = Dictionary(grouping: collections.keys.sorted()) { $0.prefix { $0 != "." } }
        var body = JSONWriter()
        body.object { body in
            body.member("name", string: database)
            body.name("scopes")
            body.object { scopes in
                for (scope, names) in names.sorted(by: { $0.key < $1.key }) {
                    scopes.name(scope)
                    scopes.object { scope in
                        scope.name("collections")
                        scope.object { list in
                            for name in names {
                                list.name(name.drop { $0 != "." }.dropFirst())
                                list.object { _ in }
                            }
                        }
                    }
                }
            }
        }
        return .json(body.bytes)
    }

    /// `/DB/_raw/ID`: the document, with the sync function's decisions in `_xattrs._sync`.
    private func raw(_ request: Request, _ id: String) throws -> Answer {
        guard ["GET", "HEAD"].contains(request.method) else { throw RequestError.methodNotAllowed("GET, HEAD") }
        guard let document = try store.winner(of: id) else { throw RequestError.missing }
        let grants = try store.grants(of: id)
        let channels = grants.compactMap { given, sequence in
            if case .channel(let name, _) = given.grant { (given.principal, name, sequence) } else { nil }
        }
        let roles = grants.compactMap { given, sequence in
            if case .role(let name) = given.grant { (given.principal, name, sequence) } else { nil }
        }
        var body = JSONWriter()
        body.object { body in
            if document.body.count > 2 { body.raw(document.body.dropFirst().dropLast()) }
            if document.isDeleted { body.member("_deleted", bool: true) }
            body.name("_xattrs")
            body.object { attributes in
                attributes.name("_sync")
                attributes.object { sync in
                    sync.name("channels")
                    sync.object { list in
                        for name in document.channels {
                            list.name(name)
                            list.null()
                        }
                    }
                    sync.member("access", channels)
                    sync.member("role_access", roles)
                    sync.member("rev", string: document.revision)
                }
            }
        }
        return .json(body.bytes)
    }

    /// `/DB/_config/sync`; `/DB/_config` has the same function. The function stays until the gateway ends.
    private func syncFunction(_ request: Request) async throws -> Answer {
        switch request.method {
        case "GET", "HEAD":
            let source = store.function.current?.source ?? ""
            return Answer(
                status: 200, fields: [HTTPField("Content-Type", "application/javascript")],
                body: .whole(Array(source.utf8)))
        case "PUT": store.function.set(try newFunction(String(decoding: request.body, as: UTF8.self)))
        case "DELETE": store.function.set(nil)
        default: throw RequestError.methodNotAllowed("DELETE, GET, HEAD, PUT")
        }
        return Answer(status: 200, fields: [], body: .whole([]))
    }

    private func newFunction(_ source: String) throws -> SyncFunction? {
        guard !source.isEmpty else { return nil }
        do { return try SyncFunction(source, limits: store.function.limits) } catch let refusal as SyncFunction.Refusal
        {
            let place = refusal.line.map { "(anonymous): Line \($0) " } ?? ""
            throw RequestError(
                400, "1 errors:\nsync function error: invalid javascript syntax: \(place)\(refusal.message)")
        }
    }

    /// `POST /DB/_resync`: runs the function again for all documents.
    private func resync(_ request: Request) async throws -> Answer {
        guard request.method == "POST" else { throw RequestError.methodNotAllowed("POST") }
        let counts = try await store.resync(assignsNewSequences: request.query.flag("regenerate_sequences"))
        var body = JSONWriter()
        body.object { body in
            body.member("status", string: "completed")
            body.member("docs_changed", integer: counts.changed)
            body.member("docs_processed", integer: counts.processed)
            body.member("last_error", string: "")
        }
        return .json(body.bytes)
    }
}

extension JSONWriter {
    /// `{"kim":{"a":5}}`. Omitted if nothing is granted.
    fileprivate mutating func member(_ name: String, _ grants: [(principal: String, name: String, sequence: Int)]) {
        guard !grants.isEmpty else { return }
        self.name(name)
        object { list in
            for (principal, granted) in Dictionary(grouping: grants, by: \.principal).sorted(by: { $0.key < $1.key }) {
                list.name(Principal.isRole(principal) ? principal : String(principal.dropFirst("user:".count)))
                list.object { names in
                    for grant in granted.sorted(by: { $0.name < $1.name }) {
                        names.name(grant.name)
                        names.integer(grant.sequence)
                    }
                }
            }
        }
    }
}
