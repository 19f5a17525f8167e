internal import Locking

/// The databases of a CouchDB server. Also works with Sync Gateway's admin port, which lists databases but announces no
/// updates.
struct ServerDirectory: DatabaseDirectory {
    private let server: Gateway
    private let patterns: DatabasePatterns
    /// Whether the server refuses `_dbs_info`.
    private let lacksInfos = Locked(false)

    /// - Parameter server: Any keyspace of the server.
    init(_ server: Gateway, _ patterns: DatabasePatterns) { (self.server, self.patterns) = (server, patterns) }

    var what: String { "databases" }
    var expectsAnnouncements: Bool { true }

    func names() async throws(GatewayError) -> [String] {
        do throws(GatewayError) { return try await server.databaseNames() } catch {
            guard error.isRefusalOfUser || error.isRefusalOfRequest, let names = patterns.literalNames else {
                throw error.namingRemedy(
                    "to list databases, the user must be a server administrator; without one, name each database instead of a pattern"
                )
            }
            return try await present(among: names)
        }
    }

    /// Those of the databases that exist, also those that this user may not read.
    private func present(among names: [String]) async throws(GatewayError) -> [String] {
        var present: [String] = []
        for name in names {
            guard let gateway = try? gateway(name) else { continue }
            do throws(GatewayError) { _ = try await gateway.databaseInfo() } catch {
                if error.code == .notFound { continue }
                guard error.isRefusalOfUser else { throw error }
            }
            present.append(name)
        }
        return present
    }

    func infos(of names: [String]) async throws(GatewayError) -> [String: DatabaseInfo] {
        if !lacksInfos.withLock(\.self) {
            do throws(GatewayError) { return try await server.databaseInfos(of: names) } catch {
                guard error.isRefusalOfRequest || error.isRefusalOfUser else { throw error }
                lacksInfos.withLock { $0 = true }
            }
        }
        var infos: [String: DatabaseInfo] = [:]
        for name in names {
            guard let gateway = try? gateway(name) else { continue }
            do throws(GatewayError) { infos[name] = try await gateway.databaseInfo() } catch {
                // The database itself is missing or not readable, which a run on it reports.
                guard error.isRefusalOfUser || error.code == .notFound else { throw error }
            }
        }
        return infos
    }

    func updates(since: SequenceID?) async throws(GatewayError) -> DatabaseUpdates {
        do throws(GatewayError) { return try await server.databaseUpdates(since: since) } catch {
            guard error.isRefusalOfRequest || error.isRefusalOfUser else { throw error }
            throw GatewayError(.notOffered, error.description)
        }
    }

    func gateway(_ name: String) throws(GatewayURLError) -> Gateway {
        server.sibling(try KeyspaceName(name.percentEncoded))
    }
}
