import BotState
import Bots
import Delivery
import DocumentFlow
import EmbeddedGateway
import Foundation
import GatewayClient
import LosslessJSON
import Rules
import TestKit
import Testing

/// Bugs that operators of other bots report, and what happens here: waits, starts, stops, passwords, proxies.
///
/// Tested elsewhere:
/// - SIGTERM is not trapped: `ProcessTests.daemonStopsCleanlyOnRequest`, `FaultTests.bot…StopsOnRequest`
/// - The same backlog after every restart, sequences edited by hand: `CheckpointCommandTests`
/// - Memory grows with the documents: `BotTests.documentLargerThanTheBudgetIsProcessed`, `CandidateQueueTests`,
///   `BodyTests.atMostHighWaterMarkIsBufferedForAbsentReader`
/// - Idle requests: also `FaultTests.idleRequestEndedByAProxyIsNoError`
@Suite(.limitedParallelism) struct OperationRegressionTests {
    /// couchdb-nano#257: after minutes of outage, the reader slept for hours.
    ///
    /// The schedule step by step: `RetryPolicyTests`.
    @Test(arguments: 0..<20)
    func backOffHasACap(seed: Int) {
        var number = UInt64(seed)
        for _ in 0..<50 {
            number = number &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let share = Double(number >> 11) / Double(1 << 53)
            var backoff = Backoff(random: { share })
            let isCapped = (0..<100).allSatisfy { failure in
                let wait = backoff.next()
                return wait >= .zero && wait <= min(.seconds(60), .milliseconds(250) * (1 << min(failure, 20)))
            }
            #expect(isCapped)
            #expect(backoff.next(atLeast: .seconds(90)) == .seconds(90))
            backoff.reset()
            #expect(backoff.next() <= .milliseconds(250))
        }
    }

    /// logstash couchdb_changes#27: after Ctrl-C, the file with the sequence was empty. Then the reader stopped, or
    /// processed everything again.
    @Test(arguments: [true, false])
    func emptiedStateLosesNothing(isEmpty: Bool) async throws {
        try await BotTestBed.withTrouble { bed, _ in
            let rules = try bed.rules(BotTestBed.doneRules)
            try await bed.load(BotTestBed.tasks(0..<10))
            for _ in 0..<2 { try await bed.runOnce(rules) }
            for name in try FileManager.default.contentsOfDirectory(atPath: bed.directory + "/state") {
                let path = bed.directory + "/state/" + name
                if isEmpty {
                    try Data().write(to: URL(fileURLWithPath: path))
                } else {
                    try FileManager.default.removeItem(atPath: path)
                }
            }
            try await bed.load(BotTestBed.tasks(10..<12))
            #expect(try await bed.runOnce(rules).written == 2)
            try await bed.expectDoneOnce(0..<12)
        }
    }

    /// cht-core#3668, #6533: one rule was broken, the others continued, and it missed its changes.
    @Test
    func invalidRuleFileRunsNoRule() async throws {
        try await BotTestBed.withTrouble { bed, _ in
            try await bed.load(BotTestBed.tasks(0..<3))
            _ = try bed.rules(BotTestBed.doneRules)
            let broken = bed.directory + "/second.yaml"
            let text = "version: 1\nrules:\n  - name: second\n    when: { type: { $regx: x } }\n    then: []\n"
            try Data(text.utf8).write(to: URL(fileURLWithPath: broken))
            #expect(throws: (any Error).self) { try RuleSet.load(paths: [bed.directory + "/rules.yaml", broken]) }
            // The repaired rule sees what it has missed: with other rules, there is no copy of a checkpoint to continue
            // from.
            try Data(text.replacingOccurrences(of: "{ $regx: x }", with: "task").utf8)
                .write(to: URL(fileURLWithPath: broken))
            let repaired = try RuleSet.load(paths: [bed.directory + "/rules.yaml", broken])
            let counters = try await bed.runOnce(repaired)
            #expect(counters.rules.fired == ["done": 3, "second": 3])
        }
    }

    /// couchdb#1607, couchbase-lite-java-core#576, #1334: after the cookie expired, writes were anonymous, or the feed
    /// stopped without a reason.
    ///
    /// Renewal and login step by step: `SessionTests`.
    @Test
    func expiredSessionIsRenewed() async throws {
        var settings = GatewaySettings()
        settings.usesSession = true
        try await BotTestBed.withTrouble(user: ("amy", "letmein"), settings: settings) { bed, gateway in
            try await bed.load(BotTestBed.tasks(0..<20))
            let kinds = #"["_changes","_bulk_docs","_all_docs","_local","database"]"#
            try gateway.injectFaults(#"{"on":\#(kinds),"session_expired":true,"every":3}"#)
            let counters = try await bed.runOnce(try bed.rules(BotTestBed.doneRules)) {
                $0.delivery.limits.documents = 5
            }
            #expect(counters.written == 20)
            #expect(counters.deadLetters == 0)
            #expect(gateway.faultCounts["session_expired"] ?? 0 > 1)
            gateway.stopFaults()
            try await bed.expectDoneOnce(0..<20)
        }
    }

    /// cht-core#2363, #4312, obsidian-livesync#169, bigcouch#44, couchdb-documentation#522, sync_gateway#164: proxies
    /// cut idle requests.
    @Test(arguments: [408, 502, 504, 524])
    func proxyThatEndsIdleRequestsEndsNothingElse(status: Int) async throws {
        try await BotTestBed.withTrouble { bed, gateway in
            let rules = try bed.rules(BotTestBed.doneRules)
            let page = #"{"code":\#(status),"body":"<html>Gateway Timeout</html>"}"#
            try gateway.injectFaults(#"{"feed":"longpoll","on":"_changes","status":\#(page),"times":2}"#)
            try await bed.following(rules) {
                while gateway.faultCounts["status"] != 2 { try await Task.sleep(for: .milliseconds(10)) }
                try await bed.load(BotTestBed.tasks(0..<3))
                for task in BotTestBed.tasks(0..<3) {
                    try await bed.wait(until: task.id) { $0["done"]?.bool == true }
                }
            }
            try await bed.expectDoneOnce(0..<3)
        }
    }

    /// A database that was deleted and recreated has no changes after the old checkpoint.
    @Test(arguments: [0, 3])
    func recreatedDatabaseIsProcessed(more: Int) async throws {
        try await BotTestBed.withTrouble { bed, gateway in
            let rules = try bed.rules(BotTestBed.doneRules)
            try await bed.load(BotTestBed.tasks(0..<20))
            try await bed.following(rules, configure: { $0.checkInterval = .milliseconds(50) }) {
                try await bed.wait(until: "t19") { $0["done"]?.bool == true }
                try await gateway.reset()
                // One of them is a document that the old database had.
                try await bed.load(BotTestBed.tasks(19..<20 + more))
                try await bed.wait(until: DocumentID("t\(19 + more)")) { $0["done"]?.bool == true }
            }
            try await bed.expectDoneOnce(19..<20 + more)
            let ledger = try bed.ledger(rules)
            defer { ledger.close() }
            #expect(try ledger.checkpointHistory().contains { $0.reason?.contains("reset") == true })
        }
    }

    /// The mark of one database must not be mistaken for that of another: the reset happens while the bot is stopped.
    @Test
    func databaseRecreatedDuringTheRunIsProcessed() async throws {
        try await BotTestBed.withTrouble { bed, gateway in
            let rules = try bed.rules(BotTestBed.doneRules)
            try await bed.load(BotTestBed.tasks(0..<20))
            try await bed.runOnce(rules)
            try await gateway.reset()
            try await bed.load(BotTestBed.tasks(0..<5))
            #expect(try await bed.runOnce(rules).written == 5)
            try await bed.expectDoneOnce(0..<5)
        }
    }
}
