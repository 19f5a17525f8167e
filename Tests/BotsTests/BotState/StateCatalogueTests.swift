import Foundation
import GRDB
import GatewayClient
import Testing

@testable import BotState

/// State belongs to a database, not to a spelling of its URL.
@Suite struct StateCatalogueTests {
    private static let here = "http://127.0.0.1:4985/todo"
    private static let elsewhere = "http://db.example:4985/todo"

    private func withCatalogue<Result>(_ body: (StateCatalogue) async throws -> Result) async throws -> Result {
        try await withTemporaryDirectory { directory in
            try await body(StateCatalogue(directory: directory + "/state", name: "bot"))
        }
    }

    private func open(
        _ catalogue: StateCatalogue, at address: String = here, _ observation: DatabaseObservation,
        for purpose: StateCatalogue.Purpose = .run
    ) throws(StateError) -> StateCatalogue.Opened {
        try catalogue.open(address: address, observation, ruleSetHash: "r1", for: purpose)
    }

    private func use(
        _ catalogue: StateCatalogue, at address: String = here, _ observation: DatabaseObservation,
        save number: Int? = nil
    ) async throws -> (checkpoint: SequenceID?, formerAddress: String?, others: [String]) {
        let opened = try open(catalogue, at: address, observation)
        defer { opened.ledger.close() }
        let before = try opened.ledger.checkpoint()?.sequence
        if let number { try await opened.ledger.saveCheckpoint(sequence(number)) }
        try await opened.ledger.noteAddress()
        return (before, opened.formerAddress, opened.others)
    }

    private func files(_ catalogue: StateCatalogue) throws -> [String: Data] {
        var files: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: catalogue.directory) {
            files[name] = FileManager.default.contents(atPath: catalogue.directory + "/" + name)
        }
        return files
    }

    // MARK: - Databases

    @Test func twoDatabasesUnderOneNameHaveSeparateStates() async throws {
        try await withCatalogue { catalogue in
            _ = try await use(catalogue, .marked("a"), save: 1)
            let second = try await use(catalogue, at: Self.elsewhere, .marked("b"), save: 2)
            #expect(second.checkpoint == nil)
            #expect(second.others == [Self.here])
            for _ in 1...2 {
                #expect(try await use(catalogue, .marked("a")).checkpoint == sequence(1))
                #expect(try await use(catalogue, at: Self.elsewhere, .marked("b")).checkpoint == sequence(2))
            }
            #expect(try files(catalogue).keys.sorted() == ["bot.lock", "bot.sqlite", "bot@2.lock", "bot@2.sqlite"])
        }
    }

    @Test func databaseIsRecognizedAtAnotherAddressAndLoggedOnce() async throws {
        try await withCatalogue { catalogue in
            _ = try await use(catalogue, .marked("a"), save: 7)
            let first = try await use(catalogue, at: Self.elsewhere, .marked("a"))
            #expect(first.checkpoint == sequence(7))
            #expect(first.formerAddress == Self.here)
            for address in [Self.elsewhere, Self.here] {
                let next = try await use(catalogue, at: address, .marked("a"))
                #expect(next.checkpoint == sequence(7))
                #expect(next.formerAddress == nil)
            }
        }
    }

    @Test func runsExcludeEachOtherOnOneDatabaseOnly() async throws {
        try await withCatalogue { catalogue in
            let run = try open(catalogue, .marked("a"))
            defer { run.ledger.close() }
            for address in [Self.here, Self.elsewhere] {
                let error = #expect(throws: StateError.self) { try open(catalogue, at: address, .marked("a")) }
                guard case .locked = error else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
            }
            // This database is new: the state of the run that has just started must not be taken over.
            let other = try open(catalogue, at: Self.elsewhere, .inaccessible)
            defer { other.ledger.close() }
            let third = try open(catalogue, at: "http://c:1/todo", .inaccessible)
            defer { third.ledger.close() }
            #expect(Set([run, other, third].map(\.ledger.path)).count == 3)
        }
    }

    @Test func resetForgetsOtherAddresses() async throws {
        try await withCatalogue { catalogue in
            _ = try await use(catalogue, at: Self.elsewhere, .marked("a"))
            _ = try await use(catalogue, .marked("a"))
            let reset = try open(catalogue, .unmarked)
            try await reset.ledger.startOver(identity: "b", at: .start, reason: "reset")
            #expect(try reset.ledger.addresses() == [Self.here])
            reset.ledger.close()
            // The database there now counts as another one.
            #expect(try await use(catalogue, at: Self.elsewhere, .marked("a")).others == [Self.here])
        }
    }

    // MARK: - Existing states

    /// Makes a state that is bound to its URL, as for a user who may not keep a mark.
    private func makeBoundState(_ catalogue: StateCatalogue, identity: String?) async throws {
        let opened = try open(catalogue, .inaccessible)
        try await opened.ledger.saveCheckpoint(sequence(5))
        try await opened.ledger.keep([DeadLetter(sequence: nil, id: "a", revision: nil, reason: "r")])
        if let identity { try await opened.ledger.adoptDatabase(identity: identity) }
        opened.ledger.close()
    }

    @Test(arguments: ["a", nil])
    func stateBoundToAURLIsTakenOver(identity: String?) async throws {
        try await withCatalogue { catalogue in
            try await makeBoundState(catalogue, identity: identity)
            let opened = try open(catalogue, .marked("a"))
            defer { opened.ledger.close() }
            #expect(try opened.ledger.checkpoint()?.sequence == sequence(5))
            #expect(try opened.ledger.deadLetterCount() == 1)
            #expect(try opened.ledger.databaseIdentity() == "a")
            #expect(try opened.ledger.addresses() == [Self.here])
            #expect(opened.formerAddress == nil)
        }
    }

    @Test func stateBoundToAURLIsAlsoFoundByItsMark() async throws {
        try await withCatalogue { catalogue in
            try await makeBoundState(catalogue, identity: "a")
            let preview = try open(catalogue, at: Self.elsewhere, .marked("a"), for: .preview)
            #expect(try preview.ledger.checkpoint()?.sequence == sequence(5))
            let found = try await use(catalogue, at: Self.elsewhere, .marked("a"))
            #expect(found.checkpoint == sequence(5))
            #expect(found.formerAddress == Self.here)
        }
    }

    @Test func stateLeftByAMistypedURLIsUsed() async throws {
        try await withCatalogue { catalogue in
            try open(catalogue, at: "http://typo:1/todo", .inaccessible).ledger.close()
            let opened = try open(catalogue, .marked("a"))
            defer { opened.ledger.close() }
            #expect(opened.ledger.path.hasSuffix("/bot.sqlite"))
            #expect(try opened.ledger.addresses() == [Self.here])
            #expect(opened.others.isEmpty)
        }
    }

    // MARK: - Dry runs

    @Test func dryRunCreatesNoState() async throws {
        try await withCatalogue { catalogue in
            let preview = try open(catalogue, .unmarked, for: .preview)
            #expect(try preview.ledger.checkpoint() == nil)
            preview.ledger.close()
            #expect(!FileManager.default.fileExists(atPath: catalogue.directory))
        }
    }

    @Test func dryRunLeavesTheStateUnchanged() async throws {
        try await withCatalogue { catalogue in
            _ = try await use(catalogue, .marked("a"), save: 3)
            let before = try files(catalogue)
            let preview = try open(catalogue, .marked("a"), for: .preview)
            #expect(try preview.ledger.checkpoint()?.sequence == sequence(3))
            try await preview.ledger.startOver(identity: "b", at: .start, reason: "reset")
            #expect(try preview.ledger.databaseIdentity() == "a")
            preview.ledger.close()
            #expect(try files(catalogue) == before)
        }
    }

    @Test func dryRunReadsTheStateOfRunningAndKilledBots() async throws {
        try await withCatalogue { catalogue in
            let run = try open(catalogue, .marked("a"))
            defer { run.ledger.close() }
            try await run.ledger.saveCheckpoint(sequence(4))
            #expect(try open(catalogue, .marked("a"), for: .preview).ledger.checkpoint()?.sequence == sequence(4))
            // A killed run would leave the files as they are now on disk.
            let killed = StateCatalogue(directory: catalogue.directory + "-killed", name: "bot")
            try FileManager.default.copyItem(atPath: catalogue.directory, toPath: killed.directory)
            try FileManager.default.removeItem(atPath: killed.directory + "/bot.sqlite-shm")
            let before = try files(killed)
            #expect(before["bot.sqlite-wal"]?.isEmpty == false)
            #expect(try open(killed, .marked("a"), for: .preview).ledger.checkpoint()?.sequence == sequence(4))
            #expect(try files(killed) == before)
        }
    }

    // MARK: - Commands

    @Test func addressIsNeededOnlyForSeveralStates() async throws {
        try await withCatalogue { catalogue in
            func checkpoint(_ address: String?, isHint: Bool = false) throws -> SequenceID? {
                let ledger = try catalogue.openExisting(address: address, isHint: isHint, access: .shared)
                defer { ledger.close() }
                return try ledger.checkpoint()?.sequence
            }
            _ = try await use(catalogue, .marked("a"), save: 1)
            #expect(try checkpoint(nil) == sequence(1))
            #expect(try checkpoint("http://localhost:4985/todo") == sequence(1))
            #expect(try checkpoint(Self.elsewhere, isHint: true) == sequence(1))
            #expect(throws: StateError.self) { try checkpoint(Self.elsewhere) }
            _ = try await use(catalogue, at: Self.elsewhere, .marked("b"), save: 2)
            #expect(try checkpoint(Self.here) == sequence(1))
            #expect(try checkpoint(Self.elsewhere, isHint: true) == sequence(2))
            for address in [nil, "http://c:1/todo"] as [String?] {
                let error = #expect(throws: StateError.self) { try checkpoint(address, isHint: true) }
                guard case .ambiguous(let message) = error else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
                #expect(message.contains(Self.here) && message.contains(Self.elsewhere))
            }
        }
    }

    /// A sequence of CouchDB has hundreds of characters.
    @Test func longCheckpointsAreShortened() async throws {
        try await withCatalogue { catalogue in
            let long = try #require(SequenceID("12-" + String(repeating: "g", count: 200)))
            for (address, mark) in [(Self.here, "a"), (Self.elsewhere, "b")] {
                let opened = try open(catalogue, at: address, .marked(mark))
                defer { opened.ledger.close() }
                try await opened.ledger.saveCheckpoint(long)
                try await opened.ledger.noteAddress()
            }
            let error = #expect(throws: StateError.self) {
                try catalogue.openExisting(address: nil, access: .shared).close()
            }
            let message = error?.description ?? ""
            #expect(message.contains("\(Self.here) (checkpoint 12-ggggggggggggggggggg"), "\(message)")
            #expect(message.contains("…)") && !message.contains(long.queryValue), "\(message)")
        }
    }

    @Test func otherBotsAreListedIfThisOneHasNoState() async throws {
        try await withCatalogue { catalogue in
            _ = try await use(catalogue, .marked("a"))
            let other = StateCatalogue(directory: catalogue.directory, name: "both")
            let error = #expect(throws: StateError.self) { try other.openExisting(address: nil, access: .shared) }
            let expected =
                ": did you mean 'bot'? There is 'bot'; start the bot first or, if it has run, name the right one with "
                + "--state and --name"
            #expect(error?.description.hasSuffix(expected) == true, "\(String(describing: error))")
        }
    }

    /// Regression: all names were listed, regardless of their number.
    @Test(arguments: [
        (
            "bot-07x", 30, "bot-07x' in DIR: did you mean 'bot-07'? There is 'bot-00', 'bot-01', ",
            "'bot-09' and 20 more;"
        ),
        ("other", 30, "'other' in DIR; there is 'bot-00', ", "'bot-09' and 20 more;"),
        ("other", 11, "'other' in DIR; there is 'bot-00', ", "'bot-09', 'bot-10';"),
        ("other", 0, "'other' in DIR;", " name the right one"),
    ])
    func fewStatesAreListedAndTheNearestIsSuggested(name: String, count: Int, start: String, end: String) async throws {
        try await withCatalogue { catalogue in
            for number in 0..<count {
                let name = "bot-" + (number < 10 ? "0" : "") + "\(number)"
                _ = try await use(StateCatalogue(directory: catalogue.directory, name: name), .marked("a"))
            }
            let other = StateCatalogue(directory: catalogue.directory, name: name)
            let error = #expect(throws: StateError.self) { try other.openExisting(address: nil, access: .shared) }
            let message = (error?.description ?? "").replacingOccurrences(of: catalogue.directory, with: "DIR")
            #expect(message.contains(start) && message.contains(end), "\(message)")
        }
    }
}
