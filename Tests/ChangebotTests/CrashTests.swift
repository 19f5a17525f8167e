import BotState
import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// The process is killed between two effects, and the next run does the rest.
@Suite(.limitedParallelism) struct CrashTests {
    private static let rules = """
        version: 1
        rules:
          - name: done
            when: { type: task, done: { $exists: false } }
            then:
              - put: { id: { jq: '"log." + ._id' }, document: { type: log } }
              - related: { selector: { of: { jq: ._id } }, then: [{ merge: { seen: true } }] }
              - merge: { done: true }
          - name: broken
            when: { type: broken }
            then:
              - patch: [{ op: remove, path: /none }]
          - name: counts
            when: { type: task }
            then:
              - aggregate: { into: counts, document: { type: counts }, count: { all: true, done: { done: true } } }
        """
    private static let count = 40
    /// The places that such a run passes.
    private static let places = CrashPoint.allCases.filter { place in
        ![.stateForgotten, .outsideEffectsDone, .passBegun, .passDone].contains(place)
    }

    private struct TestBed {
        let directory: String
        let url: String
        let phone: Gateway

        func run(crashingAt place: String? = nil) async throws -> Program.Result {
            var environment: [String: String] = [:]
            if let place { environment["CHANGEBOT_CRASH_AT"] = place }
            return try await Program.run(
                [
                    "run", "--once", "--gateway", url, "--rules", directory + "/rules.yaml", "--state",
                    directory + "/state", "--log-level", "critical",
                ], environment: environment)
        }

        /// Makes the database look as after a reset: with another mark.
        func replaceMark() async throws {
            let mark = try await phone.localDocument("changebot.changebot")
            try await phone.saveLocalDocument(
                "changebot.changebot", body: Array(#"{"foreign":true}"#.utf8), revision: mark?.revision)
        }
    }

    private func withTestBed(_ body: (TestBed) async throws -> Void) async throws {
        try await Program.withDirectory { directory in
            try await Program.withGateway { url in
                try Data(Self.rules.utf8).write(to: URL(fileURLWithPath: directory + "/rules.yaml"))
                let bed = TestBed(directory: directory, url: url, phone: Gateway(try GatewayURL(url)))
                try await load(bed.phone)
                try await body(bed)
                await bed.phone.shutdown()
            }
        }
    }

    private func load(_ phone: Gateway) async throws {
        let tasks = (0..<Self.count).map { number in
            BulkDocument(id: DocumentID("t\(number)"), segments: [Array(#"{"_id":"t\#(number)","type":"task"}"#.utf8)])
        }
        let parts = (0..<Self.count).map { number in
            BulkDocument(
                id: DocumentID("p\(number)"), segments: [Array(#"{"_id":"p\#(number)","of":"t\#(number)"}"#.utf8)])
        }
        let broken = BulkDocument(id: "broken", segments: [Array(#"{"_id":"broken","type":"broken"}"#.utf8)])
        _ = try await phone.bulkDocs(tasks + parts + [broken])
    }

    /// Each task is done, each part is seen, each log exists, and none was written twice.
    ///
    /// - Parameter tasks: The current number of tasks.
    private func expectEverythingOnce(_ bed: TestBed, tasks: Int = count, _ place: Comment) async throws {
        let names = (0..<Self.count).flatMap { ["t\($0)", "log.t\($0)", "p\($0)"] }
        for (name, lookup) in zip(names, try await bed.phone.allDocs(keys: names.map { DocumentID($0) })) {
            guard case .found(let revision, let document) = lookup else {
                Issue.record("\(place): \(name) is not there")
                continue
            }
            let isLog = name.hasPrefix("log.")
            #expect(revision.text.hasPrefix(isLog ? "1-" : "2-"), place)
            let mark = name.hasPrefix("p") ? "seen" : "done"
            #expect(isLog || document.root[mark]?.bool == true, place)
        }
        if case .found(_, let counts)? = try await bed.phone.allDocs(keys: ["counts"]).first {
            #expect(counts.root["all"]?.integer == tasks, place)
            #expect(counts.root["done"]?.integer == tasks, place)
        } else {
            Issue.record("\(place): nothing is counted")
        }
        let catalogue = StateCatalogue(directory: bed.directory + "/state", name: "changebot")
        let ledger = try catalogue.openExisting(address: nil, access: .shared)
        defer { ledger.close() }
        #expect(try ledger.deadLetters().map(\.id) == ["broken"], place)
    }

    @Test(arguments: places) func nextRunFinishesTheRest(place: CrashPoint) async throws {
        try await withTestBed { bed in
            #expect(try await bed.run(crashingAt: place.rawValue).code == -SIGKILL)
            let second = try await bed.run()
            #expect(second.code == 0 || second.code == 1, "\(second.errors)")
            try await expectEverythingOnce(bed, "\(place)")
        }
    }

    @Test func resetIsCompletedAfterACrash() async throws {
        try await withTestBed { bed in
            _ = try await bed.run()
            try await bed.replaceMark()
            #expect(try await bed.run(crashingAt: "stateForgotten").code == -SIGKILL)
            _ = try await bed.phone.bulkDocs([
                BulkDocument(id: "late", segments: [Array(#"{"_id":"late","type":"task"}"#.utf8)])
            ])
            let last = try await bed.run()
            #expect(last.code == 1, "\(last.errors)")
            try await expectEverythingOnce(bed, tasks: Self.count + 1, "after a reset")
            guard case .found(let revision, _) = try await bed.phone.allDocs(keys: ["late"]).first else {
                Issue.record("not there")
                return
            }
            #expect(revision.text.hasPrefix("2-"))
        }
    }
}
