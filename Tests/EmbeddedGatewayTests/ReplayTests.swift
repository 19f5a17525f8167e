import Compression
import Foundation
import GRDB
import HTTPServing
import LosslessJSON
import TestKit
import Testing

@testable import EmbeddedGateway

/// Compares the embedded gateway with recorded answers of Sync Gateway, request by request.
///
/// Reads the recordings in the folder `CHANGEBOT_WIRE`. Compares status and body, except for the digits of versions,
/// for generated ids and boundaries, and for the order and notation of members within documents, which the embedded
/// gateway does not change.
@Suite struct ReplayTests {
    private static let folder = ProcessInfo.processInfo.environment["CHANGEBOT_WIRE"]

    @Test(.enabled(if: folder != nil), .limitedParallelism)
    func openDatabaseAnswersAsRecorded() async throws {
        let folder = try #require(Self.folder)
        var replay = Replay(try TestGateway(), ReplayExceptions.open)
        for exchange in try replay.inOrder(Exchange.read(folder + "/sync-gateway-4.1.1.jsonl"))
        where exchange.database == "open" {
            try await replay.repeat(exchange)
        }
        #expect(replay.agreed == 161)
        #expect(replay.unused.isEmpty)
    }

    @Test(.enabled(if: folder != nil), .limitedParallelism)
    func requestsWithoutASyncFunctionAnswerAsRecorded() async throws {
        let folder = try #require(Self.folder)
        let gateway = try TestGateway(database: "todo")
        var replay = Replay(gateway, ReplayExceptions.todo)
        try await replay.enroll(
            ["moderator"], [("user1", ["user1"]), ("user2", ["user2"]), ("mod", []), ("admin", [])], ["admin"])
        for exchange in try replay.inOrder(Exchange.read(folder + "/sync-gateway-4.1.1.jsonl"))
        where ["todo", "nodb", ""].contains(exchange.database) {
            try await replay.repeat(exchange)
        }
        #expect(replay.agreed == 96)
        #expect(replay.unused.isEmpty)
    }

    @Test(.enabled(if: folder != nil), .limitedParallelism)
    func openDatabaseAnswersLikeThePreviousVersion() async throws {
        let folder = try #require(Self.folder)
        var replay = Replay(try TestGateway(), ReplayExceptions.older)
        for exchange in try replay.inOrder(Exchange.read(folder + "/sync-gateway-3.3.7.jsonl"))
        where exchange.database == "open" {
            try await replay.repeat(exchange)
        }
        #expect(replay.agreed == 160)
        #expect(replay.unused.isEmpty)
    }

    /// The embedded gateway skips no sequences. It reads the real gateway's sequences of skipped changes as plain
    /// ones.
    @Test(.enabled(if: folder != nil), .limitedParallelism)
    func feedWithSkippedSequencesIsAsRecorded() async throws {
        let folder = try #require(Self.folder)
        var replay = Replay(try TestGateway(), ReplayExceptions.skippedSequences)
        for exchange in try replay.inOrder(Exchange.read(folder + "/sync-gateway-4.1.1-skipped-sequences.jsonl")) {
            try await replay.repeat(exchange)
        }
        #expect(replay.agreed == 11)
        #expect(replay.unused.isEmpty)
    }

    @Test(.enabled(if: folder != nil), .limitedParallelism)
    func collectionsAnswerAsRecorded() async throws {
        let folder = try #require(Self.folder)
        let names = ["lists", "tasks", "users"].map { "_default.\($0)" }
        var replay = Replay(try await TestGateway(database: "todo", collections: names), ReplayExceptions.collections)
        for exchange in try replay.inOrder(Exchange.read(folder + "/sync-gateway-4.1.1-keyspaces.jsonl")) {
            // Up to this point the administrator was active.
            if exchange.name == "anonymous" { try await replay.enroll([], [("user1", [])], []) }
            try await replay.repeat(exchange)
        }
        #expect(replay.agreed == 20)
        #expect(replay.unused.isEmpty)
    }

    @Test(.enabled(if: folder != nil), .limitedParallelism)
    func conflictsAnswerAsRecorded() async throws {
        let folder = try #require(Self.folder)
        let gateway = try TestGateway(database: "conf", rules: WritingRules(allowsConflicts: true))
        var replay = Replay(gateway, ReplayExceptions.conflicts)
        for exchange in try replay.inOrder(Exchange.read(folder + "/sync-gateway-3.3.7.jsonl"))
        where exchange.database == "conf" {
            try await replay.repeat(exchange)
        }
        #expect(replay.agreed == 13)
    }
}

/// One recording, replayed against an initially empty gateway.
struct Replay {
    private let gateway: TestGateway
    private let exceptions: ReplayExceptions
    private var madeIDs: [(recorded: String, made: String)] = []
    /// The sessions of this replay, by the recorded ones.
    private var sessions: [String: String] = [:]
    private var met: Set<String> = []
    private var counts: [String: Int] = [:]
    private var users: EmbeddedGateway.Users = {
        var users = EmbeddedGateway.Users()
        users.guest = .init(channels: [RequestUser.starChannel])
        return users
    }()
    private(set) var agreed = 0

    init(_ gateway: TestGateway, _ exceptions: ReplayExceptions) {
        self.gateway = gateway
        self.exceptions = exceptions
    }

    /// Exceptions that the recording did not need.
    var unused: [String] { exceptions.reasons.keys.filter { !met.contains($0) } }

    /// The exchanges in the order in which they began. They were recorded in the order in which they ended.
    func inOrder(_ exchanges: [Exchange]) -> [Exchange] {
        var exchanges = exchanges
        for (name, later) in exceptions.earlier {
            guard let from = exchanges.firstIndex(where: { $0.name == name }),
                let to = exchanges.firstIndex(where: { $0.name == later }), to < from
            else { continue }
            exchanges.insert(exchanges.remove(at: from), at: to)
        }
        return exchanges
    }

    mutating func `repeat`(_ exchange: Exchange) async throws {
        try await gateway.skipSequences(exceptions.sequences[exchange.name] ?? 0)
        counts[exchange.name, default: 0] += 1
        let count = counts[exchange.name] ?? 1
        let label = count == 1 ? exchange.name : "\(exchange.name) #\(count)"
        if exceptions.reasons[label] != nil {
            met.insert(label)
            return
        }
        if exchange.isEndless { return }
        if exchange.isAdministration { return try await administer(exchange) }
        let answer = try await gateway.repeated(exchange, sessions)
        if let session = exchange.session { sessions[session] = answer.session }
        #expect(answer.status == exchange.status, "\(exchange.name): \(answer.text)")
        let recorded = madeIDs.reduce(exchange.beginning.map(String.init) ?? exchange.answer ?? "") {
            $0.replacingOccurrences(of: $1.recorded, with: $1.made)
        }
        let expected = ComparableAnswer(recorded, hasVersions: exceptions.hasVersions)
        let found = ComparableAnswer(answer.text, hasVersions: exceptions.hasVersions)
        if let pair = expected.madeID(found) {
            madeIDs.append(pair)
        } else {
            #expect(
                exchange.method == "HEAD" || found.isSame(as: expected)
                    || exchange.beginning != nil && expected.isBeginning(of: found),
                "\(exchange.name): \(found.text.prefix(2_000)) for \(expected.text.prefix(2_000))")
        }
        agreed += 1
    }

    /// Creates roles and users one by one, so that they get the recorded sequences.
    mutating func enroll(
        _ roles: [String], _ accounts: [(name: String, channels: Set<String>)], _ moreRoles: [String]
    ) async throws {
        users.guest = .init(isDisabled: true)
        try await gateway.router.accounts.replace(with: users)
        for role in roles { users.roles[role] = [] }
        for account in accounts {
            users.accounts[account.name] = .init(password: PasswordHash("pass"), channels: .init(account.channels))
            try await gateway.router.accounts.replace(with: users)
        }
        for role in moreRoles { users.roles[role] = [] }
        try await gateway.router.accounts.replace(with: users)
    }

    /// Repeats the administrator's changes to users and documents without HTTP.
    private mutating func administer(_ exchange: Exchange) async throws {
        if exchange.path.hasSuffix("/_purge") {
            for id in try JSONText(exchange.body).root.members.compactMap(\.name.string) {
                _ = try await gateway.store.purge(id)
            }
        }
        guard exchange.method != "GET" else { return }
        guard let name = exchange.path.wholeMatch(of: /\/\w+\/_user\/(\w+)/).map({ String($0.1) }) else { return }
        if exchange.method == "DELETE" {
            users.accounts[name] = nil
        } else {
            let settings = try JSONText(exchange.body).root
            var account = users.accounts[name] ?? .init()
            if let password = settings["password"]?.string { account.password = PasswordHash(password) }
            if let channels = settings["admin_channels"] {
                account.channels = .init(channels.elements.compactMap(\.string))
            }
            account.isDisabled = settings["disabled"]?.bool ?? account.isDisabled
            users.accounts[name] = account
        }
        try await gateway.router.accounts.replace(with: users)
    }
}

extension TestGateway {
    /// Skips sequences that the real gateway used in exchanges that are not repeated.
    func skipSequences(_ count: Int) async throws {
        guard count > 0 else { return }
        let sequence = try store.lastSequence() + count
        try await store.database.write { db in
            try db.execute(sql: "UPDATE counters SET value = ? WHERE name = 'sequence'", arguments: [sequence])
        }
        store.signal.advance(to: sequence)
    }

    fileprivate func repeated(_ exchange: Exchange, _ sessions: [String: String]) async throws -> Collected {
        let fields = exchange.fields.map { field in
            HTTPField(field.name, sessions.reduce(field.value) { $0.replacing($1.key, with: $1.value) })
        }
        let answer = await router.answer(
            Request(exchange.method, exchange.path, fields: fields, body: exchange.body))
        let collected = try await Collected(answer)
        guard collected.field("Content-Encoding") == "gzip" else { return collected }
        return try await Collected(
            Answer(
                status: answer.status, fields: answer.fields,
                body: .whole(Gzip.decompress(collected.bytes, limit: 1 << 24))
            ))
    }
}

extension Collected {
    fileprivate var session: String? {
        field("Set-Cookie")?.firstMatch(of: /^SyncGatewaySession=([0-9a-f]{40});/).map { String($0.1) }
    }
}
