import DocumentFlow
import Fleet
import GatewayClient
import Locking
import LosslessJSON
import PostgreSQL
import Rules
import ServiceLifecycle
import TestKit
import Testing

@testable import BotState
@testable import Bots

/// The members of a fleet share the work.
@Suite(.limitedParallelism(isLong: true)) struct SharedWorkTests {
    private static func ids(_ prefix: String, _ count: Int) -> [DocumentID] {
        (1...count).map { DocumentID("\(prefix)\($0)") }
    }

    @Test func severalMembersDoWhatOneDoes() async throws {
        try await EngineTestBed.with(countsRevisions: true) { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            try await fleet.sharing(rules, members: 1...3) { reports in
                for report in reports { try await fleet.wait(until: .following, report) }
                // Wait until the partitions are distributed.
                try await fleet.wait(until: 3, "SELECT count(DISTINCT owner) FROM lease WHERE name <> 'feed'")
                try await fleet.bed.load((1...300).map { task("a\($0)", "apple") })
                try await fleet.bed.wait(until: Self.ids("a", 300), fleet.isDone)
            }
            for id in Self.ids("a", 300) {
                let revision = try await fleet.bed.stored(id)?.root["_rev"]?.string
                #expect(revision?.hasPrefix("2-") == true, "\(id): \(revision ?? "none")")
            }
            #expect(try await fleet.sql("SELECT count(*) FROM dead_letter").rows == [[.int(0)]])
        }
    }

    /// They create the tables and record the same rules at the same moment.
    @Test func manyMembersMayStartAFleetAtOnce() async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            for _ in 0..<5 {
                let name = fleet.server.uniqueName("start")
                let next = EngineTestBed(bed: fleet.bed, server: fleet.server, fleet: name)
                try await next.sharing(rules, members: 1...6) { reports in
                    for report in reports { try await next.wait(until: .following, report) }
                }
            }
        }
    }

    @Test func joiningMemberGetsAShare() async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            try await fleet.sharing(rules, members: 1...1) { first in
                try await fleet.wait(until: .following, first[0])
                try await fleet.bed.load((1...100).map { task("a\($0)", "apple") })
                try await fleet.sharing(rules, members: 1...2) { _ in
                    try await fleet.bed.load((1...100).map { task("b\($0)", "apple") })
                    try await fleet.bed.wait(until: Self.ids("a", 100) + Self.ids("b", 100), fleet.isDone)
                }
                // The other members have left.
                try await fleet.bed.load((1...100).map { task("c\($0)", "apple") })
                try await fleet.bed.wait(until: Self.ids("c", 100), fleet.isDone)
            }
        }
    }

    @Test func ruleChainsCrossPartitions() async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(
                """
                version: 1
                rules:
                  - name: first
                    when: { type: task }
                    then: [ { put: { id: { jq: '"second." + ._id' }, document: { type: step } } } ]
                  - name: second
                    when: { type: step }
                    then: [ { put: { id: { jq: '"third." + ._id' }, document: { type: last } } } ]
                """)
            try await fleet.sharing(rules, members: 1...2) { reports in
                try await fleet.wait(until: .following, reports[0])
                try await fleet.bed.load((1...50).map { task("a\($0)", "apple") })
                try await fleet.bed.wait(until: (1...50).map { DocumentID("third.second.a\($0)") }) { _ in true }
            }
            #expect(try await fleet.sql("SELECT count(*) FROM dead_letter").rows == [[.int(0)]])
        }
    }

    @Test func deletionsAreDecided() async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(
                """
                version: 1
                rules:
                  - name: gone
                    on: [delete]
                    when: {}
                    then: [ { put: { id: { jq: '"gone." + ._id' }, document: { type: trace } } } ]
                """)
            try await fleet.sharing(rules, members: 1...2) { reports in
                try await fleet.wait(until: .following, reports[0])
                try await fleet.bed.load([task("a", "apple")])
                let revision = try #require(try await fleet.bed.stored(DocumentID("a"))?.root["_rev"]?.string)
                let tombstone = #"{"_id":"a","_rev":"\#(revision)","_deleted":true}"#
                try await fleet.bed.load([(id: DocumentID("a"), body: tombstone)])
                try await fleet.bed.wait(until: DocumentID("gone.a")) { _ in true }
            }
        }
    }

    /// The log contains only the revision of a deletion. Sync Gateway 4 keeps no members.
    @Test func deletionsAreDecidedWithTheMembersOfTheirTombstones() async throws {
        try await EngineTestBed.with { fleet in
            let bed = fleet.bed
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: gone
                    on: [delete]
                    when: { type: task }
                    then: [ { put: { id: { jq: '"by." + .deletedBy' }, document: { type: trace } } } ]
                  - name: any
                    on: [delete]
                    when: {}
                    then: [ { put: { id: { jq: '"gone." + ._id' }, document: { type: trace } } } ]
                """)
            try await bed.load((1...2).map { task("a\($0)", "apple") })
            try await fleet.sharing(rules, members: 1...1) { _ in
                var keepsMembers = false
                for (id, members) in [("a1", #","type":"task","deletedBy":"amy""#), ("a2", "")] {
                    let revision = try #require(try await bed.stored(DocumentID(id))?.root["_rev"]?.string)
                    let tombstone = #"{"_id":"\#(id)","_rev":"\#(revision)","_deleted":true\#(members)}"#
                    try await bed.load([(id: DocumentID(id), body: tombstone)])
                    let leaves = try await bed.phone.openRevisions(of: DocumentID(id))
                    if case .found(let leaf)? = leaves.first, leaf.root["type"] != nil { keepsMembers = true }
                    try await bed.wait(until: DocumentID("gone.\(id)")) { _ in true }
                }
                if keepsMembers { try await bed.wait(until: DocumentID("by.amy")) { _ in true } }
            }
        }
    }

    @Test func killedEngineServerLosesNothing() async throws {
        try await EngineTestBed.with(server: try TestPostgres()) { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            try await fleet.sharing(rules, members: 1...2) { reports in
                try await fleet.wait(until: .following, reports[0])
                try await fleet.bed.load((1...100).map { task("a\($0)", "apple") })
                fleet.server.stop()
                try await fleet.bed.load((1...100).map { task("b\($0)", "apple") })
                try fleet.server.start()
                try await fleet.bed.wait(until: Self.ids("a", 100) + Self.ids("b", 100), fleet.isDone)
            }
        }
    }

    @Test func activeMemberWaitsForSharingMembers() async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            try await fleet.sharing(rules, members: 1...1) { reports in
                try await fleet.wait(until: .following, reports[0])
                try await fleet.running(rules, member: 2) { alone in
                    try await fleet.wait(until: .onStandby, alone)
                }
            }
        }
    }

    @Test func databaseResetMovesTheLog() async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            try await fleet.sharing(rules, members: 1...1) { reports in
                try await fleet.wait(until: .following, reports[0])
                try await fleet.bed.load([task("a", "apple")])
                try await fleet.bed.wait(until: DocumentID("a"), fleet.isDone)
            }
            let ledger = try EngineState.openExisting(
                try fleet.engine(), directory: fleet.bed.directory, access: .exclusive)
            // A clean stop saves it.
            #expect(try ledger.checkpoint() != nil)
            // An operator who sets or removes the checkpoint moves it, too.
            try await ledger.saveCheckpoint(try #require(SequenceID("7")), reason: "set")
            #expect(try await fleet.sql("SELECT seq FROM fleet").rows == [[.text("7")]])
            try await ledger.resetCheckpoint(reason: "reset")
            #expect(try await fleet.sql("SELECT seq FROM fleet").rows == [[.null]])
            try await ledger.startOver(identity: "other", at: .start, reason: "test")
            ledger.close()
            #expect(try await fleet.sql("SELECT seq FROM fleet").rows == [[.text("0")]])
            #expect(try await fleet.sql("SELECT count(*) FROM work").rows == [[.int(0)]])
        }
    }

    /// At the next request for the feed, by any member; not only at the next check of the mark.
    @Test func databaseResetIsDetectedBeforeTheFeedIsRead() async throws {
        try await BotTestBed.withTrouble { bed, embedded in
            let server = try TestPostgres.shared
            let fleet = EngineTestBed(bed: bed, server: server, fleet: server.uniqueName("reset"))
            let rules = try bed.rules(EngineTestBed.apples)
            let (bot, report) = try fleet.bot(rules, member: 1) { settings in
                settings.fleet.sharing = Sharing(role: .auto, partitions: 4)
                settings.checkInterval = .seconds(3600)
            }
            let failure = await #expect(throws: RunError.self) {
                try await EngineTestBed.running([bot]) {
                    try await fleet.wait(until: .following, report)
                    try await bed.load([task("a", "apple")])
                    try await bed.wait(until: DocumentID("a"), fleet.isDone)
                    try embedded.injectFaults(#"{"reset":true,"on":"_changes","times":1}"#)
                    // Ends the feed's request.
                    try await bed.load([task("b", "apple")])
                    while true {
                        try await Task.sleep(for: .seconds(1))
                        try await bed.load([task("c\(ContinuousClock.now)", "pear")])
                    }
                }
            }
            #expect(failure?.code == .databaseReset)
        }
    }

    @Test func membersOfTwoRolesDoNotWorkTogether() async throws {
        try await EngineTestBed.with(countsRevisions: true) { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            let kinds = try (1...4).map { number in
                try fleet.bot(rules, member: number) { settings in
                    settings.fleet.sharing = number.isMultiple(of: 2) ? Sharing(role: .auto, partitions: 4) : nil
                }.bot
            }
            try await EngineTestBed.running(kinds) {
                // A member that was silent for too long stays in the list until it notices.
                func areBothAtWork() throws -> Bool {
                    let snapshot = try fleet.engine().snapshot()
                    return snapshot.members.contains(where: \.runs) && !snapshot.sharing.isEmpty
                }
                try await fleet.bed.load((1...100).map { task("a\($0)", "apple") })
                try await fleet.bed.wait(until: Self.ids("a", 100), fleet.isDone)
                while try areBothAtWork() { try await Task.sleep(for: .milliseconds(20)) }
            }
            for id in Self.ids("a", 100) {
                let revision = try await fleet.bed.stored(id)?.root["_rev"]?.string
                #expect(revision?.hasPrefix("2-") == true, "\(id): \(revision ?? "none")")
            }
        }
    }

    @Test func otherNumberOfPartitionsIsRefused() async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            try await fleet.sharing(rules, members: 1...1, partitions: 16) { reports in
                try await fleet.wait(until: .following, reports[0])
                let (bot, _) = try fleet.bot(rules, member: 2) { settings in
                    settings.fleet.sharing = Sharing(role: .auto, partitions: 8)
                }
                let error = await #expect(throws: StateError.self) { try await bot.run() }
                #expect(error?.description.contains("16") == true, "\(String(describing: error))")
            }
        }
    }

    @Test func catchUpOfChangedRulesIsRefusedInAFleet() throws {
        let error = #expect(throws: RunError.self) { try Sharing.check(catchesUp: true) }
        #expect(error?.description.contains("leave it out") == true)
        try Sharing.check(catchesUp: false)
    }
}
