import HTTPServing
import Logging

@testable import EmbeddedGateway

/// A router with a database in memory: requests and answers as values, without a socket.
struct TestGateway {
    let store: Store
    private(set) var router: Router

    init(
        database: String = "open", storage: EmbeddedGateway.Storage = .memory, rules: WritingRules = WritingRules(),
        sessions: Sessions = Sessions()
    ) throws {
        store = try Store(storage, rules: rules)
        router = Router(
            database: database, store: store, logger: .quiet, started: Greeting(),
            accounts: Accounts(store, sessions: sessions))
    }

    /// A gateway with other collections, for a user with full access who is not in the feed, like an
    /// administrator.
    init(database: String, collections names: [String]) async throws {
        try self.init(database: database)
        var collections: [String: Store] = [:]
        for name in names { collections[name] = try await store.collection(name) }
        let starChannel = ChannelAccess(held: [RequestUser.starChannel: Store.guestSequence])
        let administrator = RequestUser(name: nil, sequence: 0, access: collections.mapValues { _ in starChannel })
        router = Router(
            database: database, store: store, collections: collections, logger: .quiet, started: Greeting(),
            accounts: Accounts(store, defaultUser: administrator))
    }

    mutating func hostDatabases() { router.hosted = HostedDatabases(logger: .quiet) }

    /// The answer to a request, with its body collected.
    func answer(
        _ method: String, _ target: String, _ body: String = "", fields: [HTTPField] = [.json]
    ) async throws -> Collected {
        let answer = await router.answer(Request(method, target, fields: fields, body: Array(body.utf8)))
        return try await Collected(answer)
    }

    @discardableResult
    func put(_ id: String, _ body: String) async throws -> Collected { try await answer("PUT", "/open/\(id)", body) }
}

/// An answer with its complete body.
struct Collected {
    let status: Int
    let fields: [HTTPField]
    let bytes: [UInt8]

    init(_ answer: Answer) async throws {
        status = answer.status
        fields = answer.fields
        switch answer.body {
        case .none, .withheld: bytes = []
        case .whole(let whole): bytes = whole
        case .streamed(let make): bytes = try await Pieces(make).bytes
        }
    }

    var text: String { String(decoding: bytes, as: UTF8.self) }

    func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }
}

/// The pieces of a streamed body.
struct Pieces {
    private(set) var bytes: [UInt8] = []
    private(set) var lengths: [Int] = []

    init(_ make: @Sendable (@escaping Answer.Send) async throws -> Void) async throws {
        let (pieces, continuation) = AsyncStream<[UInt8]>.makeStream()
        try await make { continuation.yield($0) }
        continuation.finish()
        for await piece in pieces {
            bytes += piece
            lengths.append(piece.count)
        }
    }
}

extension Logger {
    static let quiet = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
}

extension HTTPServer {
    /// A server with the gateway's settings on a free port.
    static func startForTest(
        timeouts: ConnectionTimeouts.Limits = ConnectionTimeouts.Limits(), waiting: WaitingOutput = WaitingOutput(),
        bodies: IncomingBodies = IncomingBodies(), respond: @escaping RequestHandler
    ) async throws -> HTTPServer {
        var settings = Settings.embeddedGateway
        settings.timeouts = timeouts
        settings.waiting = waiting
        settings.bodies = bodies
        return try await start(settings, respond: respond)
    }
}
