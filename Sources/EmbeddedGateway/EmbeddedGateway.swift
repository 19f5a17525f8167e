internal import GRDB
internal import Logging
internal import NIOConcurrencyHelpers

/// A document gateway in this process: one database in one file, or in memory, in Sync Gateway's REST dialect.
///
/// For demos, tests and development. Without users GUEST reads and writes all. It is no product of its own: one
/// process, one file.
///
/// ```swift
/// let gateway = EmbeddedGateway(.init(storage: .memory))
/// let address = try await gateway.start()  // address.url: "http://127.0.0.1:41234/todo"
/// await gateway.stop()
/// ```
///
/// Where it differs from the real one: members of documents keep their order and their spelling (Sync Gateway sorts
/// them); channels come from the member `channels`, never from a sync function, and are given in
/// ``Configuration-swift.struct/users`` only; it skips no sequences; there is no administration. What is not there answers 404 `unknown URL`.
package final class EmbeddedGateway: Sendable {
    private struct Running {
        let router: Router
        let server: HTTPServer
        let clock: FaultClock
    }

    private enum State {
        case idle
        case starting
        case running(Running)
    }

    package let configuration: Configuration
    private let state = NIOLockedValueBox(State.idle)
    let faults = FaultInjection()

    package init(_ configuration: Configuration = Configuration()) { self.configuration = configuration }

    /// Opens the database and listens.
    ///
    /// - Throws: ``EmbeddedGatewayError``: the file can't be opened, the address can't be bound. Trying again makes
    ///   sense once the cause is gone.
    /// - Precondition: The gateway is not running.
    package func start() async throws -> Address {
        let isIdle = state.withLockedValue { state in
            guard case .idle = state else { return false }
            state = .starting
            return true
        }
        precondition(isIdle, "the embedded gateway is running already")
        do {
            try checkNames()
            let store = try openStore()
            let collections = try await collections(store)
            let router = router(store, collections, try await accounts(store))
            faults.follow(configuration.faults)
            let server = try await listen(router)
            let clock = FaultClock(router)
            clock.restart()
            state.withLockedValue { $0 = .running(Running(router: router, server: server, clock: clock)) }
            return Address(host: configuration.host, port: server.port, database: configuration.database)
        } catch {
            state.withLockedValue { $0 = .idle }
            throw error
        }
    }

    /// Ends open longpolls, closes the connections and the file. Does nothing if the gateway is not running.
    ///
    /// Acknowledged writes are in the file, and nothing is left beside it but its lock. The gateway can be started
    /// again; what was in memory is gone then.
    package func stop() async {
        let running = state.withLockedValue { state -> Running? in
            guard case .running(let running) = state else { return nil }
            state = .starting
            return running
        }
        guard let running else { return }
        await running.clock.stop()
        await running.server.stop()
        try? running.router.store.close()
        state.withLockedValue { $0 = .idle }
    }

    /// Serves until the task is cancelled.
    ///
    /// - Parameter ready: Called once, when connections are accepted.
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

    /// Nil while the gateway does not run.
    var router: Router? { running?.router }
    /// Does things at times that the faults name; nil while the gateway does not run.
    var faultClock: FaultClock? { running?.clock }
    /// Where waiting feeds are counted, for tests; nil while the gateway does not run.
    var signal: ChangeSignal? { router?.store.signal }

    /// Collections of the database file that hold documents, if none of those that are served does.
    package func collectionsBeside() throws -> [String] {
        guard let store = router?.store else { return [] }
        let names = try store.collectionsWithDocuments()
        return names.contains { collectionNames.contains($0) } ? [] : names
    }

    /// What a database may be called; completes "write …".
    package static let databaseNameAdvice =
        "a lowercase letter, then at most 127 lowercase letters, digits and _$()+-, such as todo"

    /// - Note: Source: Sync Gateway's `kDBNameMatch`, without the slash.
    package static func isDatabaseName(_ name: String) -> Bool {
        name.utf8.count <= 128 && name.wholeMatch(of: /[a-z][-a-z0-9_$()+]*/) != nil
    }

    /// Whether it is `SCOPE.COLLECTION`.
    static func isCollectionName(_ name: String) -> Bool {
        name.wholeMatch(of: /[A-Za-z0-9_%-]{1,30}\.[A-Za-z0-9_%-]{1,30}/) != nil
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
            do { collections[name] = try await store.collection(name) } catch {
                try? store.close()
                throw EmbeddedGatewayError(
                    .cannotOpenFile, "can't write collections to \(configuration.storage): \(Self.cause(error))")
            }
        }
        return collections
    }

    private func openStore() throws(EmbeddedGatewayError) -> Store {
        let rules = WritingRules(
            allowsConflicts: configuration.allowsConflicts, revisionsLimit: max(20, configuration.revisionsLimit))
        let newFile = configuration.storage.newFile
        do {
            let store = try Store(configuration.storage, rules: rules)
            if let newFile { configuration.logger.notice("made a database file", metadata: ["file": "\(newFile)"]) }
            return store
        } catch {
            let code: EmbeddedGatewayError.Code =
                switch error {
                case is DatabaseFile.Foreign: .foreignFile
                case is FileLock.Held: .fileInUse
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
        return router
    }

    private func listen(_ router: Router) async throws(EmbeddedGatewayError) -> HTTPServer {
        do {
            return try await HTTPServer.start(host: configuration.host, port: configuration.port) { request in
                await router.answer(request)
            }
        } catch {
            try? router.store.close()
            let fault = ListenFault(host: configuration.host, port: configuration.port, error)
            throw EmbeddedGatewayError(.cannotListen, fault.description)
        }
    }

    /// Without SQL and arguments.
    private static func cause(_ error: any Error) -> String {
        guard let error = error as? DatabaseError else { return "\(error)" }
        return error.message ?? "\(error.resultCode)"
    }
}
