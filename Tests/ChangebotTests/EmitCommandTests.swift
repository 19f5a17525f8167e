import BotState
import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// Runs with rules that emit lines.
@Suite(.limitedParallelism) struct EmitCommandTests {
    private struct TestBed {
        let directory: String
        let url: String

        var out: String { directory + "/orders.ndjson" }

        func write(rules: String) throws {
            try Data(("version: 1\nrules:\n" + rules).utf8).write(to: URL(fileURLWithPath: directory + "/rules.yaml"))
        }

        func run(
            _ command: [String] = ["run", "--once"], crashingAt place: String? = nil, launcher: [String] = []
        ) async throws -> Program.Result {
            let environment = place.map { ["CHANGEBOT_CRASH_AT": $0] } ?? [:]
            return try await Program.run(
                command + [
                    "--gateway", url, "--rules", directory + "/rules.yaml", "--state", directory + "/state",
                    "--log-level", "critical",
                ], environment: environment, launcher: launcher)
        }

        var lines: [JSONText] {
            get throws {
                let text = try String(contentsOfFile: out, encoding: .utf8)
                #expect(text.isEmpty || text.hasSuffix("\n"))
                return try text.split(separator: "\n").map { try JSONText(String($0)) }
            }
        }

        func load(_ count: Int, text: String = "") async throws {
            let phone = Gateway(try GatewayURL(url))
            let documents = (0..<count).map { number in
                let document = #"{"_id":"t\#(number)","type":"task","text":"\#(text)"}"#
                return BulkDocument(id: DocumentID("t\(number)"), segments: [Array(document.utf8)])
            }
            for start in stride(from: 0, to: count, by: 500) {
                _ = try await phone.bulkDocs(Array(documents[start..<min(start + 500, count)]))
            }
            await phone.shutdown()
        }
    }

    private static let done = """
          - name: done
            when: { type: task, done: { $exists: false } }
            then: [{ emit: { file: orders.ndjson } }, { merge: { done: true } }]
        """
    private static let copy = """
          - name: copy
            when: { type: task }
            then: [{ emit: { file: orders.ndjson, line: document } }]
        """

    private func withTestBed(_ rules: String, _ body: (TestBed) async throws -> Void) async throws {
        try await Program.withDirectory { directory in
            try await Program.withGateway { url in
                let bed = TestBed(directory: directory, url: url)
                try bed.write(rules: rules)
                try await body(bed)
            }
        }
    }

    @Test func manyLongLinesOfOneDocumentAreWrittenInPortions() async throws {
        let rules = """
              - name: each
                when: { type: task }
                then: [{ for_each: "range(40)", emit: { file: orders.ndjson, rotate: { size: 5MB } } }]
            """
        try await withTestBed(rules) { bed in
            try await bed.load(1, text: String(repeating: "x", count: 300_000))
            #expect(try await bed.run().code == 0)
            let files = try FileManager.default.contentsOfDirectory(atPath: bed.directory)
                .filter { $0.hasPrefix("orders") }
            #expect(files.count == 3)
            #expect(try bed.lines.count < 40)
        }
    }

    private static let crashPoints: [CrashPoint] = [
        .decided, .outsideEffectsDone, .written, .recorded, .finished, .checkpointSaved,
    ]

    /// A crash loses no line, and a repeated line has the same id.
    @Test(arguments: crashPoints, [1, 2]) func killedRunRepeatsUnfinishedLines(place: CrashPoint, time: Int)
        async throws
    {
        try await withTestBed(Self.done) { bed in
            try await bed.load(40)
            let crashed = try await bed.run(crashingAt: "\(place.rawValue):\(time)")
            #expect(crashed.code == -SIGKILL || time > 1)
            if crashed.code == -SIGKILL {
                // The rest of an interrupted write.
                let file = try FileHandle(forWritingTo: URL(filePath: bed.out))
                try file.seekToEnd()
                try file.write(contentsOf: Data(#"{"specversion":"1.0","#.utf8))
                try file.close()
            }
            #expect(try await bed.run().code == 0)
            var ids: [String: String] = [:]
            for line in try bed.lines {
                let subject = try #require(line.root["subject"]?.string)
                let id = try #require(line.root["id"]?.string)
                #expect(ids.updateValue(id, forKey: subject) ?? id == id)
                #expect(line.root["data"]?["_id"]?.string == subject)
            }
            #expect(ids.count == 40)
            #expect(Set(ids.values).count == 40)
        }
    }

    @Test func linesOfManyDocumentsStayWhole() async throws {
        try await withTestBed(Self.copy) { bed in
            try await bed.load(3000, text: String(repeating: "x", count: 500))
            let summary = bed.directory + "/summary.json"
            let run = try await bed.run(["run", "--once", "--summary", summary])
            #expect(run.code == 0, "\(run.errors)")
            let ids = try bed.lines.map { $0.root["_id"]?.string ?? "" }
            #expect(Set(ids).count == 3000)
            let counts = try JSONText(Array(try Data(contentsOf: URL(filePath: summary))))
            #expect(counts.root["emitted"]?.integer == ids.count)
            #expect(counts.root["written"]?.integer == 0)
        }
    }

    @Test func linesGoToStandardOutput() async throws {
        let rule = """
              - name: copy
                when: { type: task }
                then: [{ emit: { file: '-', line: { id: { jq: ._id } } } }]
            """
        try await withTestBed(rule) { bed in
            try await bed.load(3)
            let run = try await bed.run()
            #expect(run.code == 0)
            #expect(run.output.split(separator: "\n").sorted() == [#"{"id":"t0"}"#, #"{"id":"t1"}"#, #"{"id":"t2"}"#])
            let full = try await bed.run(["fix"], launcher: ["/bin/sh", "-c", "exec \"$0\" \"$@\" > /dev/full"])
            #expect(full.code == 74)
        }
    }

    @Test func dryRunShowsLinesAndWritesNone() async throws {
        try await withTestBed(Self.copy) { bed in
            try await bed.load(1)
            let json = try await bed.run(["fix", "--dry-run"])
            #expect(json.code == 0)
            #expect(json.output.contains(#""action":"emit","file":"orders.ndjson","line":{"#))
            #expect(!FileManager.default.fileExists(atPath: bed.out))
        }
    }

    /// A limit on the size of files simulates a full disk. The state is smaller.
    @Test func fullDiskEndsTheRunAndTheNextOneEmitsTheRest() async throws {
        try await withTestBed(Self.copy) { bed in
            try await bed.load(600, text: String(repeating: "x", count: 10_000))
            let full = try await bed.run(launcher: ["/bin/sh", "-c", "ulimit -f 6000; exec \"$0\" \"$@\""])
            #expect(full.code == 74, "\(full.errors)")
            #expect(full.errors.contains("orders.ndjson, a file of 'emit': File too large; free some space"))
            let before = try bed.lines.count
            #expect(before < 600)
            #expect(try await bed.run().code == 0)
            #expect(Set(try bed.lines.map { $0.root["_id"]?.string ?? "" }).count == 600)
        }
    }

    @Test func missingFolderEndsTheRunAtItsStart() async throws {
        let rule = "  - { name: a, when: {}, then: [{ emit: { file: none/orders.ndjson } }] }\n"
        try await withTestBed(rule) { bed in
            let run = try await bed.run()
            #expect(run.code == 73)
            let problem = "there is no folder \(bed.directory)/none; create it, or choose another path"
            let place = "\(bed.directory)/rules.yaml:3:49: "
            #expect(run.errors.contains(place + "can't create ") && run.errors.contains(problem), "\(run.errors)")
            #expect(try await bed.run(["fix", "--dry-run"]).code == 0)
            let check = try await Program.run(["rules", "check", "--strict", bed.directory + "/rules.yaml"])
            #expect(
                check.code == 65 && check.errors.hasPrefix(place + "warning: rule 'a': can't create "),
                "\(check.errors)")
            #expect(check.errors.contains(problem + " [emit-file]"), "\(check.errors)")
            let doctor = try await Program.run([
                "doctor", "--no-wait", "--gateway", bed.url, "--rules", bed.directory + "/rules.yaml", "--state",
                bed.directory + "/state",
            ])
            #expect(doctor.code == 1 && doctor.output.contains(place + "can't create "), "\(doctor.output)")
            try bed.write(rules: rule.replacing("when:", with: "allow: [emit-file], when:"))
            #expect(try await Program.run(["rules", "check", "--strict", bed.directory + "/rules.yaml"]).code == 0)
        }
    }

    /// The file would be attached to documents, and the folder is read for each change.
    @Test(arguments: [
        ("pictures/lines.ndjson", "is inside FOLDER/pictures, from which a rule attaches files"),
        ("./pictures/new/../lines.ndjson", "is inside FOLDER/pictures, from which a rule attaches files"),
        ("logo.png", "is a file that a rule attaches"), ("rules.yaml", "is a rule file"),
    ])
    func fileThatRulesReadIsRefusedByAllCommands(file: String, problem: String) async throws {
        let rules = """
              - { name: lines, when: {}, then: [{ emit: { file: \(file) } }] }
              - { name: logo, when: { logo: true }, then: [{ attach: { name: logo, file: logo.png } }] }
              - name: picture
                when: { type: task }
                then: [{ attach: { name: image, folder: pictures, file: { jq: '.task + ".png"' } } }]

            """
        try await withTestBed(rules) { bed in
            try FileManager.default.createDirectory(
                atPath: bed.directory + "/pictures", withIntermediateDirectories: false)
            try Data("x".utf8).write(to: URL(fileURLWithPath: bed.directory + "/logo.png"))
            let path = bed.directory + "/rules.yaml"
            let message =
                "\(path):3:53: 'emit' can't write to \(bed.directory)/\(file), which "
                + problem.replacing("FOLDER", with: bed.directory) + "; choose another path\n"
            let check = try await Program.run(["rules", "check", path])
            #expect(check.code == 65 && check.errors == message, "\(check.errors)")
            let run = try await bed.run()
            #expect(run.code == 65 && run.errors == message, "\(run.errors)")
            let doctor = try await Program.run(["doctor", "--no-wait", "--gateway", bed.url, "--rules", path])
            #expect(
                doctor.code == 1 && doctor.output.contains(message.replacing("; choose another path\n", with: "")),
                "\(doctor.output)")
        }
    }

    @Test(arguments: [("rules.yaml", 65), ("other.yaml", 65), ("state/a.sqlite", 64)])
    func fileThatTheRunReadsIsRefused(file: String, code: Int32) async throws {
        let rule = "  - { name: a, when: {}, then: [{ emit: { file: ./\(file) } }] }\n"
        try await withTestBed(rule) { bed in
            try FileManager.default.createDirectory(atPath: bed.directory + "/state", withIntermediateDirectories: true)
            let run = try await Program.run([
                "run", "--once", "--gateway", bed.url, "--rules", bed.directory, "--state", bed.directory + "/state",
            ])
            #expect(run.code == code, "\(run.errors)")
            #expect(run.errors.hasPrefix("\(bed.directory)/rules.yaml:3:49: "), "\(run.errors)")
        }
    }
}
