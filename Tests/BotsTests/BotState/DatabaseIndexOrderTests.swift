import Locking
import TestKit
import Testing

@testable import BotState

/// Orders to one of many databases.
@Suite(.limitedParallelism) struct DatabaseIndexOrderTests {
    @Test func runLearnsWhichDatabasesHaveOrders() async throws {
        try await withTemporaryDirectory { directory in
            // Before the bot has run.
            try DatabaseIndex.leaveOrder(in: directory, named: "bot", of: "a/b")
            let index = try DatabaseIndex(directory: directory, name: "bot")
            defer { index.close() }
            let seen = Monitor<Set<String>>([])
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await index.whenOrdered {
                        let names = index.orderedDatabases()
                        seen.with { $0 = names }
                    }
                }
                await seen.wait { $0 == ["a/b"] }
                try DatabaseIndex.leaveOrder(in: directory, named: "bot", of: "c")
                try DatabaseIndex.leaveOrder(in: directory, named: "bot", of: "c")
                await seen.wait { $0 == ["a/b", "c"] }
                group.cancelAll()
            }
        }
    }

    /// A killed run leaves the names of the databases on which it worked.
    @Test func orderIsKnownUntilItsWorkHasEnded() async throws {
        try await withTemporaryDirectory { directory in
            let index = try DatabaseIndex(directory: directory, name: "bot")
            defer { index.close() }
            try DatabaseIndex.leaveOrder(in: directory, named: "bot", of: "a/b")
            index.beginOrder(of: "a/b")
            #expect(index.orderedDatabases().isEmpty && index.orderedDatabases(includesBegun: true) == ["a/b"])
            // Another order while the run works.
            try DatabaseIndex.leaveOrder(in: directory, named: "bot", of: "a/b")
            index.endOrder(of: "a/b")
            #expect(index.orderedDatabases() == ["a/b"])
            for _ in 0..<2 { index.beginOrder(of: "a/b") }
            index.endOrder(of: "a/b")
            #expect(index.orderedDatabases(includesBegun: true).isEmpty)
            try DatabaseIndex.leaveOrder(in: directory, named: "bot", of: "a/b")
            try await index.forget("a/b")
            #expect(index.orderedDatabases(includesBegun: true).isEmpty)
        }
    }
}
