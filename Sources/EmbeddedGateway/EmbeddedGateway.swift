internal import GRDB
internal import HTTPServing
internal import Logging
internal import NIOConcurrencyHelpers

/// A document gateway in this process: one database, in a file or in memory, with Sync Gateway's REST API.
///
/// For demos, tests and development, not for production. Without users, GUEST may read and write all.
///
/// ```swift
/// let gateway = EmbeddedGateway(.init(storage: .memory))
/// let address = try await gateway.start()  // address.url: "http://127.0.0.1:41234/todo"
/// await gateway.stop()
/// ```
///
/// Differences from Sync Gateway:
/// - Members of documents keep their order and spelling, which Sync Gateway sorts.
/// - Without a sync function, channels come from the member `channels`, and are granted only by
///   ``Configuration-swift.struct/users``.
/// - It skips no sequences.
/// - Of the admin API it has only users, roles, the sync function and `_resync`, on a separate port.
/// - Unsupported paths answer 404 `unknown URL`.
package final class EmbeddedGateway: Sendable {
    private struct Running {
        let router: Router
        let server: HTTPServer
        let administration: HTTPServer?
        let clock: FaultClock
    }

    private enum State {
        case idle
        case starting
        case running(Running)
    }

    /// As given. Port 0 stays 0, see ``Address/port``.
    package let configuration: Configuration
    private let state = NIOLockedValueBox(State.idle)
    let faults = FaultInjection()

    /// Opens nothing before ``start()``.
    package init(_ configuration: Configuration = Configuration()) { self.configuration = configuration }

    /// Opens the database and listens.
    ///
    /// - Throws: ``EmbeddedGatewayError`` if a name is not valid, the file can't be opened or the address can't be
    ///   bound. Starting may be tried again.
    /// - Precondition: The gateway is not running.
    package func start() async throws -> Address {
        let isIdle = state.withLockedValue { state in
            guard case .idle = state else { return false }
            state = .starting
            return true
        }
        precondition(isIdle, "the embedded gateway is already running")
        do {
            try checkNames()
            let store = try openStore()
            let collections = try await collections(store)
            let router = router(store, collections, try await accounts(store))
            faults.follow(configuration.faults)
            let server = try await listen(router, configuration.host, configuration.port)
            let administration = try await administrator(router, nextTo: server)
            let clock = FaultClock(router)
            clock.restart()
            state.withLockedValue { state in
                state = .running(
                    Running(router: router, server: server, administration: administration, clock: clock))
            }
            return Address(
                host: configuration.host, port: server.port, database: configuration.database,
                administration: administration.flatMap { server in
                    configuration.administration.map { ($0.host, server.port) }
                })
        } catch {
            state.withLockedValue { $0 = .idle }
            throw error
        }
    }

    /// Ends open feeds, closes all connections and the file. Does nothing if the gateway is not running.
    ///
    /// Acknowledged writes are in the file; only its lock file remains next to it. The gateway can be started again. A
    /// database in memory is lost.
    package func stop() async {
        let running = state.withLockedValue { state -> Running? in
            guard case .running(let running) = state else { return nil }
            state = .starting
            return running
        }
        guard let running else { return }
        await running.clock.stop()
        await running.administration?.stop()
        await running.server.stop()
        running.router.hosted?.close()
        try? running.router.store.close()
        state.withLockedValue { $0 = .idle }
    }

    /// Serves while `body` runs.
    ///
    /// - Throws: As ``start()``, and any error of `body`.
    package func whileServing<Result>(_ body: (Address) async throws -> Result) async throws -> Result {
        let address = try await start()
        do {
            let result = try await body(address)
            await stop()
            return result
        } catch {
            await stop()
            throw error
        }
    }

    /// Serves until the task is cancelled.
    ///
    /// - Parameter ready: Called once, when connections are accepted.
    /// - Throws: As ``start()``.
    package func run(ready: @Sendable (Address) async -> Void = { _ in }) async throws {
        let address = try await start()
        await ready(address)
        let (ends, end) = AsyncStream<Void>.makeStream()
        await withTaskCancellationHandler {
            for await _ in ends {}
        } onCancel: {
            end.finish()
        }
        await stop()
    }

    private var running: Running? {
        state.withLockedValue { state in
            if case .running(let running) = state { running } else { nil }
        }
    }

    /// Nil while the gateway is not running, or if it has one database.
    var hosted: HostedDatabases? { router?.hosted }
    /// Nil while the gateway is not running.
    var router: Router? { running?.router }
    /// Runs the faults that are due at fixed times. Nil while the gateway is not running.
    var faultClock: FaultClock? { running?.clock }
    /// For tests, to count waiting feeds. Nil while the gateway is not running.
    var signal: ChangeSignal? { router?.store.signal }

    /// Collections with documents in the file, if none of them is served; otherwise empty. A non-empty list means that
    /// the configured collections are probably wrong.
    package func unservedCollections() throws -> [String] {
        guard let store = router?.store else { return [] }
        let names = try store.collectionsWithDocuments()
        return names.contains { collectionNames.contains($0) } ? [] : names
    }

    /// The rule for database names, for a message that begins with "write".
    package static let databaseNameAdvice =
        "a lowercase letter, then at most 127 lowercase letters, digits and _$()+-, such as todo"

    /// Whether this is a valid database name.
    ///
    /// - Note: Source: Sync Gateway's `kDBNameMatch`, without the slash.
    package static func isDatabaseName(_ name: String) -> Bool {
        name.utf8.count <= 128 && name.wholeMatch(of: /[a-z][-a-z0-9_$()+]*/) != nil
    }

    /// Whether the text is `SCOPE.COLLECTION`.
    static func isCollectionName(_ name: String) -> Bool {
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 2
            && parts.allSatisfy { part in
                part == "_default" || part.wholeMatch(of: /[A-Za-z0-9-][A-Za-z0-9_%-]{0,250}/) != nil
            }
    }

    private func checkNames() throws(EmbeddedGatewayError) {
        guard Self.isDatabaseName(configuration.database) else {
            throw EmbeddedGatewayError(
                .invalidName,
                "the database name '\(configuration.database)' is not valid: write \(Self.databaseNameAdvice)")
        }
        for name in collectionNames where !Self.isCollectionName(name) {
            throw EmbeddedGatewayError(.invalidName, "the collection name '\(name)' is not SCOPE.COLLECTION")
        }
    }

    private var collectionNames: [String] { configuration.users?.collections ?? configuration.collections }

    private func collections(_ store: Store) async throws(EmbeddedGatewayError) -> [String: Store] {
        var collections: [String: Store] = [:]
        for name in collectionNames {
            do {
                let collection = try await store.collection(name)
                collection.function.set(configuration.users?.functions[name])
                collection.function.limits = configuration.users?.limits ?? collection.function.limits
                collections[name] = collection
            } catch {
                try? store.close()
                throw EmbeddedGatewayError(
                    .cannotOpenFile, "can't write collections to \(configuration.storage): \(Self.cause(error))")
            }
        }
        return collections
    }

    private func openStore() throws(EmbeddedGatewayError) -> Store {
        var rules = WritingRules(
            allowsConflicts: configuration.allowsConflicts, revisionsLimit: max(20, configuration.revisionsLimit))
        rules.log = { [logger = configuration.logger] line in
            logger.notice("the sync function logged", metadata: ["text": "\(line)"])
        }
        let newFile = configuration.storage.newFile
        do {
            let store = try Store(configuration.storage, rules: rules)
            if let newFile { configuration.logger.notice("created a database file", metadata: ["file": "\(newFile)"]) }
            return store
        } catch {
            let code: EmbeddedGatewayError.Code =
                switch error {
                case is DatabaseFile.NotAGatewayDatabase: .foreignFile
                case is FileLock.AlreadyLocked: .fileInUse
                default: .cannotOpenFile
                }
            throw EmbeddedGatewayError(code, "can't open \(configuration.storage): \(Self.cause(error))")
        }
    }

    private func accounts(_ store: Store) async throws(EmbeddedGatewayError) -> Accounts {
        let accounts = Accounts(store)
        guard let users = configuration.users else { return accounts }
        do { try await accounts.replace(with: users) } catch {
            try? store.close()
            throw EmbeddedGatewayError(
                .cannotOpenFile, "can't write users to \(configuration.storage): \(Self.cause(error))")
        }
        return accounts
    }

    private func router(_ store: Store, _ collections: [String: Store], _ accounts: Accounts) -> Router {
        var router = Router(
            database: configuration.database, store: store, collections: collections, logger: configuration.logger,
            started: Greeting(), accounts: accounts)
        router.faults = faults
        if configuration.hostsFurtherDatabases { router.hosted = HostedDatabases(logger: configuration.logger) }
        router.logsRequests = configuration.logsRequests
        return router
    }

    /// The server of the administrative port, if there is one.
    private func administrator(
        _ router: Router, nextTo server: HTTPServer
    ) async throws(EmbeddedGatewayError) -> HTTPServer? {
        guard let place = configuration.administration else { return nil }
        var router = router
        router.isAdministration = true
        do { return try await listen(router, place.host, place.port) } catch {
            await server.stop()
            throw error
        }
    }

    private func listen(
        _ router: Router, _ host: String, _ port: Int
    ) async throws(EmbeddedGatewayError) -> HTTPServer {
        do {
            var settings = HTTPServer.Settings.embeddedGateway
            settings.host = host
            settings.port = port
            return try await HTTPServer.start(settings) { request in await router.answer(request) }
        } catch {
            try? router.store.close()
            throw EmbeddedGatewayError(.cannotListen, error.description)
        }
    }

    /// The error's message without SQL and arguments.
    private static func cause(_ error: any Error) -> String {
        guard let error = error as? DatabaseError else { return "\(error)" }
        return error.message ?? "\(error.resultCode)"
    }
}
