import Foundation
import GatewayClient
import Pipeline
import Testing

@Suite struct LedgerTests {
    /// Opens a state, and gives it free when `body` is done: a task that ended a moment ago may still hold the ledger.
    private func using<Result>(
        _ directory: String, rules: String = "r1", _ body: (Ledger) async throws -> Result
    ) async throws -> Result {
        let ledger = try open(directory, rules: rules)
        defer { ledger.close() }
        return try await body(ledger)
    }

    private func open(
        _ directory: String, name: String = "bot", gateway: String = "http://a:1/todo", rules: String = "r1"
    ) throws(StateError) -> Ledger {
        try Ledger(directory: directory, name: name, gateway: gateway, ruleSetHash: rules)
    }

    @Test(arguments: ["5", "\"5\"", "\"2:5\"", "\"1::5\"", "\"7-g1AAAA\"", "\"a\\u0041\""])
    func aCheckpointComesBackAsTheJSONThatItWas(json: String) async throws {
        try await withTemporaryDirectory { directory in
            let sequence = try #require(SequenceID(json))
            try await using(directory) { try await $0.saveCheckpoint(sequence) }
            let checkpoint = try #require(try open(directory).checkpoint())
            #expect(checkpoint.sequence.description == json)
            #expect(checkpoint.ruleSetHash == "r1")
        }
    }

    @Test func aNewStateHasNoCheckpoint() async throws {
        try await withTemporaryDirectory { directory in
            let checkpoint = try open(directory).checkpoint()
            #expect(checkpoint == nil)
        }
    }

    @Test func aSecondRunWithTheSameNameFindsTheStateTakenAndByWhom() async throws {
        try await withTemporaryDirectory { directory in
            let first = try open(directory)
            let error = #expect(throws: StateError.self) { try open(directory) }
            guard case .locked(let holder) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(holder.contains("pid \(getpid())"))
            _ = try open(directory, name: "other")
            withExtendedLifetime(first) {}
        }
    }

    @Test func theLockIsGoneWhenItsHolderCloses() async throws {
        try await withTemporaryDirectory { directory in
            try open(directory).close()
            try open(directory).close()
        }
    }

    @Test func stateOfAnotherGatewayIsRefused() async throws {
        try await withTemporaryDirectory { directory in
            try open(directory).close()
            let error = #expect(throws: StateError.self) { try open(directory, gateway: "http://b:1/todo") }
            guard case .foreign = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test func ownRevisionsAreThoseOfTheSameRules() async throws {
        try await withTemporaryDirectory { directory in
            try await using(directory) { ledger in
                try await ledger.recordOwnRevisions([("a", RevisionID("2-x")), ("b", RevisionID("3-y"))])
            }
            let candidates: [(id: DocumentID, revision: RevisionID)] = [
                ("a", RevisionID("2-x")), ("a", RevisionID("3-y")), ("b", RevisionID("3-y")),
            ]
            #expect(try await using(directory) { try await $0.ownRevisions(among: candidates) } == [0, 2])
            #expect(try await using(directory, rules: "r2") { try await $0.ownRevisions(among: candidates) } == [])
        }
    }

    @Test func filesAreForTheirOwnerOnly() async throws {
        try await withTemporaryDirectory { parent in
            let directory = parent + "/state"
            let ledger = try open(directory)
            try await ledger.saveCheckpoint(sequence(1))
            let files = try FileManager.default.contentsOfDirectory(atPath: directory)
            #expect(files.contains("bot.sqlite"))
            for file in files {
                let mode = try FileManager.default.attributesOfItem(atPath: directory + "/" + file)[.posixPermissions]
                #expect(mode as? Int == 0o600, "\(file)")
            }
            let mode = try FileManager.default.attributesOfItem(atPath: directory)[.posixPermissions]
            #expect(mode as? Int == 0o700)
        }
    }

    @Test func aFileThatIsNoStateIsRefusedAndLeftAsItIs() async throws {
        try await withTemporaryDirectory { directory in
            let content = Data(repeating: 0x41, count: 5000)
            try content.write(to: URL(fileURLWithPath: directory + "/bot.sqlite"))
            let error = #expect(throws: StateError.self) { try open(directory) }
            guard case .unreadable = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(FileManager.default.contents(atPath: directory + "/bot.sqlite") == content)
        }
    }

    @Test func deadLettersKeepWhatIsKnown() async throws {
        try await withTemporaryDirectory { directory in
            let ledger = try open(directory)
            let letters = [
                DeadLetter(
                    sequence: sequence(4), id: "t1", revision: RevisionID("1-a"), rule: "r", reason: "because",
                    attempts: 3),
                DeadLetter(sequence: nil, id: "", revision: nil, reason: "no JSON"),
            ]
            try await ledger.setAside(letters)
            #expect(try ledger.deadLetters() == letters)
        }
    }
}
