import BotState
import DocumentFlow
import EmbeddedGateway
import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

@testable import Bots

/// One bot on many databases.
@Suite(.limitedParallelism) struct DatabaseGroupTests {
    @Test func onceWorksOnEveryDatabaseThatMatches() async throws {
        try await DatabaseBed.with { bed in
            for short in ["a", "b", "c", "x"] {
                try await bed.create(short)
                try await bed.put(short, "t1")
            }
            let patterns = [bed.prefix + "*", "!" + bed.prefix + "x"]
            #expect(try await bed.runOnce(patterns: patterns).written == 3)
            for short in ["a", "b", "c"] { try await bed.wait(short) }
            #expect(try await bed.gateway("x").document("t1")?.root["done"] == nil)
            #expect(try await bed.runOnce(patterns: patterns).written == 0)
        }
    }

    @Test func databasesWithoutChangesAreNotOpenedAgain() async throws {
        try await DatabaseBed.with { bed in
            for short in ["a", "b"] {
                try await bed.create(short)
                try await bed.put(short, "t1")
            }
            // The second run finds the first one's writes.
            for _ in 1...2 { try await bed.runOnce() }
            let before = bed.requests("a")
            try await bed.put("b", "t2")
            #expect(try await bed.runOnce().written == 1)
            #expect(bed.requests("a") == before)
        }
    }

    @Test func newChangedAndDeletedDatabasesAreNoticed() async throws {
        try await DatabaseBed.with { bed in
            try await bed.create("a")
            try await bed.put("a", "t1")
            let counters = try await bed.following { report in
                try await bed.wait("a")
                try await bed.create("b")
                try await bed.put("b", "t1")
                try await bed.wait("b")
                try await bed.waitUntilQuiet(report)
                try await bed.put("a", "t2")
                try await bed.wait("a", "t2")
                try await bed.delete(bed.name("b"))
                try await bed.waitUntilMissing("b")
                try await bed.waitUntilQuiet(report)
            }
            #expect(counters.written == 3)
            #expect(counters.deadLetters == 0)
        }
    }

    @Test func recreatedDatabaseIsReadFromItsBeginning() async throws {
        try await DatabaseBed.with { bed in
            try await bed.create("a")
            try await bed.put("a", "t1")
            try await bed.following(configure: { $1.onReset = .stop }) { report in
                try await bed.wait("a")
                try await bed.waitUntilQuiet(report)
                try await bed.delete(bed.name("a"))
                // Only announcements show a database that is missing for a moment.
                if bed.embedded == nil { try await bed.waitUntilMissing("a") }
                try await bed.create("a")
                try await bed.put("a", "t1")
                try await bed.wait("a")
            }
        }
    }

    @Test(arguments: [true, false])
    func databaseThatIsRecreatedWhileItIsOpenIsReadFromItsBeginning(announces: Bool) async throws {
        try await DatabaseBed.with { bed in
            bed.embedded?.announceUpdates(announces)
            try await bed.create("a")
            try await bed.put("a", "t1")
            try await bed.put("a", "t2")
            try await bed.following(
                rules: DatabaseBed.rules + DatabaseBed.countingRule,
                configure: { settings, bot in (settings.session.linger, bot.onReset) = (nil, .stop) }
            ) { _ in
                try await bed.wait("a", "totals", for: "tasks", toBe: 2)
                try await bed.recreate("a")
                try await bed.put("a", "t3")
                // The two documents of the former database no longer count.
                try await bed.wait("a", "totals", for: "tasks", toBe: 1)
            }
        }
    }

    /// As after a crash during the first work on a database.
    @Test func stateOfMissingDatabaseWithoutAnEntryIsForgotten() async throws {
        try await DatabaseBed.with { bed in
            for short in ["a", "b"] {
                try await bed.create(short)
                try await bed.put(short, "t1")
            }
            try await bed.runOnce()
            try FileManager.default.removeItem(atPath: bed.directory + "/bot.databases/index.sqlite")
            try await bed.delete(bed.name("b"))
            let folder = DatabaseIndex.folder(in: bed.directory, named: "bot", of: bed.name("b"))
            #expect(FileManager.default.fileExists(atPath: folder))
            try await bed.runOnce()
            #expect(try bed.entry("b")?.missingSince != nil)
            let (group, _) = try bed.group(once: true) { settings, _ in settings.keptWhileMissing = -1 }
            defer { group.index.close() }
            try await group.run()
            #expect(!FileManager.default.fileExists(atPath: folder))
        }
    }

    @Test func quietDatabasesCostNoRequests() async throws {
        try await DatabaseBed.with { bed in
            let all = (1...40).map { "q\($0)" }
            for short in all {
                try await bed.create(short)
                try await bed.put(short, "t1")
            }
            try await bed.following { report in
                for short in all { try await bed.wait(short) }
                try await bed.waitUntilQuiet(report)
                let before = all.map { bed.requests($0) }
                try await bed.put("q7", "t2")
                try await bed.wait("q7", "t2")
                try await bed.waitUntilQuiet(report)
                for (short, count) in zip(all, before) where short != "q7" { #expect(bed.requests(short) == count) }
            }
        }
    }

    @Test func endOfAllWorkIsNoticed() async throws {
        try await DatabaseBed.with { bed in
            try await bed.create("a")
            try await bed.put("a", "t1")
            let times = EventCounter()
            try await bed.following(
                configure: { settings, _ in settings.whenQuiet = { times.increment() } }
            ) { _ in
                try await bed.wait("a")
                await times.wait(for: 1)
                let before = times.count
                try await bed.put("a", "t2")
                try await bed.wait("a", "t2")
                await times.wait(for: before + 1)
            }
        }
    }

    @Test func brokenDatabaseStopsNoOther() async throws {
        try await DatabaseBed.with { bed in
            guard let embedded = bed.embedded else { return }
            for short in ["a", "b"] {
                try await bed.create(short)
                try await bed.put(short, "t1")
            }
            embedded.refuse(bed.name("a"), status: 403)
            let failures = await #expect(throws: DatabaseFailures.self) { try await bed.runOnce() }
            #expect(failures?.failures.map(\.name) == [bed.name("a")])
            #expect(failures?.total == 2)
            #expect(failures?.isComplete == false)
            #expect("\(try #require(failures))".contains("1 of 2 databases were skipped: \(bed.name("a"))"))
            try await bed.wait("b")
            embedded.refuse(bed.name("a"), status: nil)
            #expect(try await bed.runOnce().written == 1)
        }
    }

    @Test func brokenDatabaseIsTriedAgain() async throws {
        try await DatabaseBed.with { bed in
            guard let embedded = bed.embedded else { return }
            for short in ["a", "b"] {
                try await bed.create(short)
                try await bed.put(short, "t1")
            }
            embedded.refuse(bed.name("a"), status: 403)
            try await bed.following(configure: { settings, _ in settings.firstRetry = .milliseconds(50) }) { _ in
                try await bed.wait("b")
                embedded.refuse(bed.name("a"), status: nil)
                try await bed.wait("a")
            }
        }
    }

    @Test func databasesArePolledIfTheServerAnnouncesNothing() async throws {
        try await DatabaseBed.with { bed in
            guard let embedded = bed.embedded else { return }
            embedded.announceUpdates(false)
            try await bed.create("a")
            try await bed.following { report in
                try await bed.put("a", "t1")
                try await bed.wait("a")
                try await bed.create("b")
                try await bed.put("b", "t1")
                try await bed.wait("b")
            }
        }
    }

    @Test func timersOfQuietDatabasesFire() async throws {
        try await DatabaseBed.with { bed in
            try await bed.create("a")
            // Late enough that the database is quiet again before, also on a slow machine.
            let due = Int(Date.now.timeIntervalSince1970) + 10
            try await bed.put("a", "timer", #"{"type":"timer","due":\#(due)}"#)
            try await bed.following { _ in
                while try bed.entry("a")?.wakeAt == nil, Int(Date.now.timeIntervalSince1970) < due {
                    try await Task.sleep(for: .milliseconds(20))
                }
                #expect(try bed.entry("a")?.wakeAt == due)
                try await bed.wait("a", "timer", for: "late")
            }
        }
    }

    /// A rule that is new counts the documents of databases whose feeds have nothing new.
    @Test func newRuleCountsQuietDatabases() async throws {
        try await DatabaseBed.with { bed in
            let all = ["a", "b", "c"]
            for short in all {
                try await bed.create(short)
                for task in 1...3 { try await bed.put(short, "t\(task)") }
            }
            try await bed.runOnce()
            let rules = DatabaseBed.rules + DatabaseBed.countingRule
            try await bed.following(rules: rules, configure: { settings, _ in settings.session.linger = .zero }) { _ in
                for short in all { try await bed.wait(short, "totals", for: "tasks", toBe: 3) }
            }
        }
    }

    @Test func moreDatabasesThanTurnsAreAllWorkedOn() async throws {
        try await DatabaseBed.with { bed in
            let all = (1...12).map { "d\($0)" }
            for short in all {
                try await bed.create(short)
                try await bed.put(short, "t1")
            }
            try await bed.following(configure: { settings, _ in
                (settings.maxActive, settings.session.linger) = (2, nil)
            }) { _ in
                for short in all { try await bed.wait(short) }
                for short in all { try await bed.put(short, "t2") }
                for short in all { try await bed.wait(short, "t2") }
            }
        }
    }

    @Test func deadLettersOfEachDatabaseAreCounted() async throws {
        try await DatabaseBed.with { bed in
            for short in ["a", "b"] { try await bed.create(short) }
            try await bed.put("a", "x", #"{"type":"broken"}"#)
            #expect(try await bed.runOnce().deadLetters == 1)
            #expect(try bed.entry("a")?.deadLetters == 1)
            #expect(try bed.entry("b")?.deadLetters == 0)
        }
    }

    @Test func patternsWithoutMatchAreWaitedFor() async throws {
        try await DatabaseBed.with { bed in
            let error = await #expect(throws: RunError.self) { try await bed.runOnce() }
            #expect(error?.code == .databaseMissing)
            #expect(error?.description.contains("none of the databases matches: \(bed.prefix)*") == true)
            try await bed.following { _ in
                try await bed.create("a")
                try await bed.put("a", "t1")
                try await bed.wait("a")
            }
        }
    }

    @Test func runWithoutAnIndexLooksAtEachDatabaseOnce() async throws {
        try await DatabaseBed.with { bed in
            try await bed.create("a")
            try await bed.put("a", "t1")
            try await bed.runOnce()
            try FileManager.default.removeItem(atPath: bed.directory + "/bot.databases/index.sqlite")
            #expect(try await bed.runOnce().written == 0)
            #expect(try bed.entry("a") != nil)
        }
    }
}
