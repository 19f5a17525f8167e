import Foundation
import GRDB
import LosslessJSON
import Testing

@testable import EmbeddedGateway

/// Holds the embedded gateway against what Sync Gateway answered, request by request.
///
/// Reads the recordings in the folder `CHANGEBOT_WIRE`. Compared are status and body, but for `_cv`, which the embedded
/// gateway does not have, for ids and boundaries that a gateway makes, and for the order and the spelling of members
/// within documents, which it leaves as they came.
@Suite struct ReplayTests {
    private static let folder = ProcessInfo.processInfo.environment["CHANGEBOT_WIRE"]

    @Test(.enabled(if: folder != nil), .timeLimit(.minutes(2)))
    func theDatabaseOpenAnswersAsRecorded() async throws {
        let folder = try #require(Self.folder)
        var replay = Replay(try TestGateway(), ReplayExceptions.open)
        for exchange in try Exchange.read(folder + "/sync-gateway-4.1.1.jsonl") where exchange.database == "open" {
            try await replay.repeat(exchange)
        }
        #expect(replay.agreed > 80)
        #expect(replay.unused.isEmpty)
    }

    @Test(.enabled(if: folder != nil), .timeLimit(.minutes(1)))
    func conflictsAnswerAsRecorded() async throws {
        let folder = try #require(Self.folder)
        let gateway = try TestGateway(database: "conf", rules: WritingRules(allowsConflicts: true))
        var replay = Replay(gateway, ReplayExceptions.conflicts)
        for exchange in try Exchange.read(folder + "/sync-gateway-3.3.7.jsonl") where exchange.database == "conf" {
            try await replay.repeat(exchange)
        }
        #expect(replay.agreed == 13)
    }
}

/// One recording, repeated against a gateway that was empty at its beginning.
struct Replay {
    private let gateway: TestGateway
    private let exceptions: ReplayExceptions
    private var madeIDs: [(recorded: String, made: String)] = []
    private var met: Set<String> = []
    private var isOver = false
    private var users: EmbeddedGateway.Users = {
        var users = EmbeddedGateway.Users()
        users.guest = .init(channels: [Visitor.everything])
        return users
    }()
    private(set) var agreed = 0

    init(_ gateway: TestGateway, _ exceptions: ReplayExceptions) {
        self.gateway = gateway
        self.exceptions = exceptions
    }

    /// Exceptions that nothing in the recording called for.
    var unused: [String] { exceptions.reasons.keys.filter { !met.contains($0) } }

    mutating func `repeat`(_ exchange: Exchange) async throws {
        try await gateway.skipSequences(exceptions.sequences[exchange.name] ?? 0)
        if exchange.name == exceptions.end { isOver = true }
        if isOver || exchange.fields.contains(where: { ReplayExceptions.absent.contains($0.name) }) { return }
        if exceptions.reasons[exchange.name] != nil {
            met.insert(exchange.name)
            return
        }
        if exchange.isAdministration { return try await administer(exchange) }
        let answer = try await gateway.repeated(exchange)
        #expect(answer.status == exchange.status, "\(exchange.name): \(answer.text)")
        let recorded = madeIDs.reduce(exchange.answer ?? "") {
            $0.replacingOccurrences(of: $1.recorded, with: $1.made)
        }
        let expected = ComparableAnswer(recorded)
        let found = ComparableAnswer(answer.text)
        if let pair = expected.madeID(found) {
            madeIDs.append(pair)
        } else {
            #expect(
                exchange.method == "HEAD" || found.isSame(as: expected),
                "\(exchange.name): \(found.text) for \(expected.text)")
        }
        agreed += 1
    }

    /// What the administration did to users there is done here without HTTP.
    private mutating func administer(_ exchange: Exchange) async throws {
        guard let name = exchange.path.wholeMatch(of: /\/\w+\/_user\/(\w+)/).map({ String($0.1) }) else { return }
        if exchange.method == "DELETE" {
            users.accounts[name] = nil
        } else {
            let settings = try JSONText(exchange.body).root
            var account = users.accounts[name] ?? .init()
            if let password = settings["password"]?.string { account.password = PasswordHash(password) }
            if let channels = settings["admin_channels"] {
                account.channels = Set(channels.elements.compactMap(\.string))
            }
            account.isDisabled = settings["disabled"]?.bool ?? account.isDisabled
            users.accounts[name] = account
        }
        try await gateway.router.accounts.replace(with: users)
    }
}

extension TestGateway {
    /// Passes over sequences that the real gateway used in exchanges that are not repeated.
    fileprivate func skipSequences(_ count: Int) async throws {
        guard count > 0 else { return }
        let sequence = try await store.lastSequence() + count
        try await store.database.write { db in
            try db.execute(sql: "UPDATE counters SET value = ? WHERE name = 'sequence'", arguments: [sequence])
        }
        store.signal.advance(to: sequence)
    }

    fileprivate func repeated(_ exchange: Exchange) async throws -> Collected {
        let answer = await router.answer(
            Request(exchange.method, exchange.path, fields: exchange.fields, body: exchange.body))
        return try await Collected(answer)
    }
}
