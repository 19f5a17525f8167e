import Foundation
import LosslessJSON
import TestKit
import Testing

/// `changebot import` as a user runs it: its messages, its summary and its exit code.
@Suite(.limitedParallelism) struct ImportCommandTests {
    private static let breaking = """
          - name: breaks
            when: { type: broken }
            then: [{ patch: [{ op: remove, path: /none }] }]
          - name: sets
            when: { type: task }
            then: [{ merge: { done: false } }]

        """

    private func withTestBed(_ body: (CommandTestBed) async throws -> Void) async throws {
        try await CommandTestBed.with(rules: Self.breaking, body)
    }

    private func write(_ lines: [String], _ bed: CommandTestBed, _ name: String = "in.ndjson") throws -> String {
        let path = bed.folder + "/" + name
        try Data(lines.map { $0 + "\n" }.joined().utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    // MARK: - The end

    @Test(arguments: [
        ("0", 65, "stopped", "more than --max-errors 0 allows"),
        ("30%", 65, "imported", "2 of 4 documents (50%) were rejected, more than --max-errors 30% allows"),
        ("50%", 1, "imported", "2 documents were rejected; use --reject FILE to keep them"),
    ])
    func countsAreLoggedForAnyEnd(limit: String, code: Int32, end: String, words: String) async throws {
        try await withTestBed { bed in
            let file = try write([#"{"_id":"a"}"#, #"{"n":1}"#, #"{"_id":"b"}"#, #"{"n":2}"#], bed)
            let result = try await Program.run(["import", file, "--gateway", bed.url, "--max-errors", limit])
            #expect(result.code == code, "\(result.errors)")
            let closing = result.errors.split(separator: "\n").last { $0.contains(" info \(end) ") }
            #expect(closing?.contains("documents=4") == true && closing?.contains("rejected=2") == true)
            #expect(result.errors.contains(words), "\(result.errors)")
        }
    }

    /// Regression: documents that were written before the reset are gone, but the log said `imported`.
    @Test func importIntoAResetDatabaseFails() async throws {
        try await Program.withDirectory { folder in
            let file = folder + "/in.ndjson"
            let lines = (0..<4000).map { #"{"_id":"d\#($0)"}"# + "\n" }
            try Data(lines.joined().utf8).write(to: URL(fileURLWithPath: file))
            let reset = #"{"reset":true,"on":"_bulk_docs","after":6,"times":1}"#
            try await Program.withGateway(faults: #"{"faults":[\#(reset)]}"#) { url in
                let result = try await Program.run(["import", file, "--gateway", url])
                #expect(result.code == 78 && result.errors.contains("the database was reset"), "\(result.errors)")
                #expect(!result.errors.contains(" imported "), "\(result.errors)")
                #expect(result.errors.contains(" info stopped "), "\(result.errors)")
            }
        }
    }

    /// Regression: a signal right after the start ended it without a message.
    @Test(arguments: [SIGTERM, SIGINT]) func stopRightAfterTheStartIsClean(signal: Int32) async throws {
        try await withTestBed { bed in
            // Too many to be imported before the signal, however busy the machine is.
            let file = try write((0..<500_000).map { #"{"_id":"d\#($0)"}"# }, bed)
            let errors = bed.folder + "/errors"
            let process = try ChildProcess(
                [Program.path, "import", file, "--gateway", bed.url], errors: errors)
            try await process.waitUntil { process.catches(signal) }
            process.signal(signal)
            #expect(await process.wait() == 0)
            let log = try String(contentsOfFile: errors, encoding: .utf8)
            // Without saved progress, nothing can be resumed.
            let isSaved = FileManager.default.fileExists(atPath: file + ".import-progress")
            let hint = isSaved ? "; continue with --resume" : ""
            #expect(log.contains("notice stopped before the end\(hint) changed=0 "), "\(log)")
        }
    }

    /// The check of a manifest reads the whole input, which may take long.
    @Test(arguments: [SIGTERM, SIGINT]) func stopDuringTheManifestCheckIsClean(signal: Int32) async throws {
        try await withTestBed { bed in
            let file = try write([], bed)
            let bytes = 1 << 36
            // A sparse file, which needs no space on disk.
            #expect(truncate(file, bytes) == 0)
            _ = try write([#"{"bytes":\#(bytes),"sha256":"00"}"#], bed, "in.ndjson.manifest.json")
            let summary = bed.folder + "/summary.json"
            let errors = bed.folder + "/errors"
            let process = try ChildProcess(
                [Program.path, "import", file, "--gateway", bed.url, "--summary", summary], errors: errors)
            try await process.waitUntil { process.hasOpen("/in.ndjson") }
            process.signal(signal)
            #expect(await process.wait() == 0)
            let text = try String(contentsOfFile: summary, encoding: .utf8)
            #expect(text.contains(#""changes":0"#) && text.contains(#""exit":0"#), "\(text)")
            let log = try String(contentsOfFile: errors, encoding: .utf8)
            #expect(log.contains("notice stopped before the end changed=0 "), "\(log)")
        }
    }

    @Test func limitOfAFixIsReportedAsGiven() async throws {
        try await withTestBed { bed in
            try await bed.put([#"{"_id":"a","type":"broken"}"#, #"{"_id":"b","type":"task"}"#])
            let common = ["fix", "--gateway", bed.url, "--rules", bed.folder + "/r.yaml", "--state", bed.state]
            for (more, words) in [
                (["--dry-run"], "1 of 2 documents (50%) would become a dead letter, more than"),
                ([], "1 of 2 documents (50%) became a dead letter, more than --max-errors 12.5% allows"),
            ] as [([String], String)] {
                let result = try await Program.run(common + ["--max-errors", "12.5%"] + more)
                #expect(result.code == 65, "\(result.errors)")
                #expect(result.errors.contains(words), "\(result.errors)")
                #expect(result.errors.contains(" info stopped ") || result.errors.contains(" info done "))
            }
        }
    }

    @Test func adviceRepeatsTheOptionsOfTheRun() async throws {
        try await withTestBed { bed in
            try await bed.put([#"{"_id":"a","type":"broken"}"#])
            let file = try write([#"{"n":1}"#], bed)
            let common = ["--gateway", bed.url, "--dry-run"]
            let fix = ["fix", "--rules", bed.folder + "/r.yaml", "--state", bed.state] + common
            for (command, expected, unexpected) in [
                (
                    ["import", file, "--reject", bed.folder + "/r"] + common, "1 document would be rejected",
                    "--reject"
                ),
                (["import", file] + common, #"lines with "action":"refuse""#, "--reject"),
                (["import", file, "--gateway", bed.url], "--reject FILE to keep it for correction", "keep them"),
                (fix, "; the log names each", "--quiet"),
                (fix + ["--quiet"], "; without --quiet the log names each", "#"),
            ] as [([String], String, String)] {
                let result = try await Program.run(command)
                #expect(result.code == 1, "\(result.errors)")
                let last = try #require(result.errors.split(separator: "\n").last)
                #expect(last.contains(expected) && !last.contains(unexpected), "\(last)")
            }
        }
    }

    /// Regression: the second import rejected everything that the first one had written, and no message offered to
    /// resume it.
    @Test func resumableImportIsReported() async throws {
        try await withTestBed { bed in
            let file = try write([#"{"_id":"a"}"#, #"{"n":1}"#], bed)
            let command = ["import", file, "--gateway", bed.url]
            let hint = "documents that exist are rejected; use --resume"
            let first = try await Program.run(command + ["--max-errors", "0"])
            #expect(first.code == 65 && !first.errors.contains(hint), "\(first.errors)")
            for (more, isLogged) in [
                (["--dry-run"], false), (["--mode", "upsert"], false), (["--mode", "insert"], true),
            ] {
                let progress = try Data(contentsOf: URL(fileURLWithPath: file + ".import-progress"))
                let again = try await Program.run(command + more)
                #expect(again.code == 1 && again.errors.contains(hint) == isLogged, "\(again.errors)")
                // A completed import removes the file.
                try progress.write(to: URL(fileURLWithPath: file + ".import-progress"))
            }
            let resumed = try await Program.run(command + ["--resume"])
            #expect(resumed.code == 1 && !resumed.errors.contains(hint), "\(resumed.errors)")
        }
    }

    /// Regression: nothing was logged. The exit code is 0, because an export of an empty database is such a file.
    @Test(arguments: [
        ("", "e.ndjson", "it is empty"), ("", "e.csv", "it is empty"), (" \n\n", "e.json", "it is blank"),
        ("\u{FEFF}", "e.ndjson", "it is blank"), ("_id,a\n", "e.csv", "it has only a header"),
        ("[]", "e.json", "it has an empty list"),
    ])
    func inputWithoutDocumentsIsANotice(text: String, name: String, reason: String) async throws {
        try await withTestBed { bed in
            let path = bed.folder + "/" + name
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            let result = try await Program.run(["import", path, "--gateway", bed.url])
            let lines = result.errors.split(separator: "\n").filter { $0.contains("notice the input has no documents") }
            #expect(result.code == 0 && lines.count == 1, "\(result.errors)")
            #expect(lines.first?.hasSuffix("reason=\"\(reason)\"") == true, "\(result.errors)")
            let quiet = try await Program.run(["import", path, "--gateway", bed.url, "--quiet"])
            #expect(quiet.code == 0 && quiet.errors.isEmpty, "\(quiet.errors)")
        }
    }

    @Test func selectorWithoutMatchesIsANotice() async throws {
        try await withTestBed { bed in
            let file = try write([#"{"_id":"a","type":"bike"}"#], bed)
            for (type, isLogged) in [("car", true), ("bike", false)] {
                let result = try await Program.run([
                    "import", file, "--gateway", bed.url, "--selector", #"{"type":"\#(type)"}"#,
                ])
                let notice = "notice no document of the input matches the selector"
                #expect(result.code == 0 && result.errors.contains(notice) == isLogged, "\(result.errors)")
            }
        }
    }

    @Test func otherDelimiterIsReportedBeforeAnythingIsWritten() async throws {
        try await withTestBed { bed in
            for (lines, options, code, hint) in [
                (["_id;n", "a;1"], [], 65, "1:1: the header has one column; add --delimiter ';'"),
                (["_id\tn", "a\t1"], [], 65, "--delimiter tab"),
                (["_id,n", "a,1"], ["--delimiter", ";"], 65, "--delimiter ','"),
                (["_id;n", "b;1"], ["--delimiter", ";"], 0, "inserted=1"),
                ([#""a;b""#, "1"], [], 1, "it has no _id"),
            ] as [([String], [String], Int32, String)] {
                let file = try write(lines, bed, "t.csv")
                let result = try await Program.run(["import", file, "--gateway", bed.url] + options)
                #expect(result.code == code && result.errors.contains(hint), "\(result.errors)")
            }
        }
    }

    @Test(
        arguments: [
            ([], 1, "rejected=1"), (["--policy", "merge"], 0, "changed=1"),
            (["--policy", "set-aside"], 1, "rejected=1"),
            (["--policy", "x"], 64, "there is no policy 'x'"),
            (["--policy", "merge", "--mode", "upsert"], 64, "--policy only applies to --mode insert and restore"),
        ] as [([String], Int32, String)])
    func policyDecidesBetweenTwoDocuments(options: [String], code: Int32, words: String) async throws {
        try await withTestBed { bed in
            let first = try write([#"{"_id":"a","n":1}"#], bed)
            _ = try await Program.run(["import", first, "--gateway", bed.url])
            let second = try write([#"{"_id":"a","m":2}"#], bed, "second.ndjson")
            let result = try await Program.run(["import", second, "--gateway", bed.url] + options)
            #expect(result.code == code && result.errors.contains(words), "\(result.errors)")
            // The variable is set for all commands.
            guard options.contains("merge") else { return }
            let upsert = ["import", second, "--gateway", bed.url, "--mode", "upsert"]
            let again = try await Program.run(upsert, environment: ["CHANGEBOT_POLICY": "merge"])
            #expect(again.code == 0, "\(again.errors)")
        }
    }

    @Test(
        arguments: [
            ([], 64, "add --slurp users=FILE"),
            (["--slurp", "others=FILE", "--slurp", "users=FILE"], 64, "others"),
            (["--slurp", "users=FILE"], 0, "imported"), (["--slurp", "users"], 64, "NAME=FILE"),
        ] as [([String], Int32, String)])
    func missingListOfAMappingIsWrongUsage(options: [String], code: Int32, words: String) async throws {
        try await withTestBed { bed in
            let mapping = Self.mapping.replacingOccurrences(of: "rules:", with: "slurp: [users]\nrules:")
            let map = try write([mapping], bed, "map.yaml")
            let file = try write([#"{"key":"a"}"#], bed)
            let options = options.map { $0.replacingOccurrences(of: "FILE", with: file) }
            for command in [["import", file, "--gateway", bed.url, "--map", map]] {
                let result = try await Program.run(command + options)
                #expect(result.code == code && result.errors.contains(words), "\(result.errors)")
            }
        }
    }

    @Test(arguments: [
        ("then: [{ merge: { _id: { jq: '.a.b.c | error' } } }]", "the mapping fails: rule 'id': "),
        ("then: []", "reason=\"the document has no '_id' that is text (after id)"),
    ])
    func failureOfAMappingIsReportedOnce(then: String, words: String) async throws {
        try await withTestBed { bed in
            let mapping = "version: 1\nkind: mapping\nrules:\n  - name: id\n    when: {}\n    \(then)\n"
            let map = try write([mapping], bed, "map.yaml")
            let file = try write([#"{"n":1}"#], bed)
            let result = try await Program.run(["import", file, "--gateway", bed.url, "--map", map])
            #expect(result.code == 1 && result.errors.contains(words), "\(result.errors)")
        }
    }

    // MARK: - The summary

    private static let mapping = """
        version: 1
        kind: mapping
        rules:
          - name: id
            when: { key: { $exists: true } }
            then: [{ merge: { _id: { jq: .key } } }]
          - name: state
            when: { state: open }
            then: [{ merge: { done: false } }]

        """

    /// Regression: a terminal multiplexer or another program of the pipeline may make stdin non-blocking, and reading
    /// failed at once.
    @Test(arguments: [
        ["import", "-", "--gateway", "embedded:"], ["import", "-", "--gateway", "embedded:", "--schema", "todo"],
        ["rules", "try", Program.pictureRules, "--input", "-"],
    ])
    func nonBlockingStdinIsWaitedFor(command: [String]) async throws {
        try await Program.withDirectory { folder in
            let process = try ChildProcess(
                [Program.path] + command, errors: folder + "/errors", isInputNonBlocking: true)
            try await process.waitUntil { process.waitsForInput }
            process.endInput(with: #"{"_id":"a","type":"task-list-user"}"# + "\n")
            let output = String(decoding: await process.readToEnd(), as: UTF8.self)
            #expect(await process.wait() == (command.contains("todo") ? 1 : 0))
            let errors = try String(contentsOfFile: folder + "/errors", encoding: .utf8)
            #expect((output + errors).contains(command[0] == "rules" ? #""id":"a""# : "documents=1"), "\(errors)")
        }
    }

    /// The members about rules' dead letters are missing, because rejected documents are no dead letters.
    @Test func summaryCountsTheRulesOfTheMapping() async throws {
        try await withTestBed { bed in
            let map = try write([Self.mapping], bed, "map.yaml")
            let lines = [#"{"key":"a","state":"open"}"#, #"{"key":"b"}"#, #"{"_id":"c"}"#, #"{"n":1}"#]
            let file = try write(lines, bed)
            for (more, matched, rules) in [
                (["--map", map], 2, #"{"id":2,"state":1}"#), ([], 4, "{}"),
                (["--selector", #"{"_id":"c"}"#], 1, "{}"),
            ] as [([String], Int, String)] {
                let summary = bed.folder + "/summary.json"
                let command = ["import", file, "--gateway", bed.url, "--mode", "upsert", "--summary", summary] + more
                let result = try await Program.run(command)
                let root = try JSONText(Array(try Data(contentsOf: URL(fileURLWithPath: summary)))).root
                #expect(root["changes"]?.integer == 4 && root["matched"]?.integer == matched, "\(result.errors)")
                #expect(root["rules"].map { String(decoding: $0.bytes, as: UTF8.self) } == rules)
                #expect(root["dead_letters"]?.integer == 0)
                #expect(root["exit"]?.integer == Int(result.code))
                let rejected = more.isEmpty ? 3 : more.first == "--map" ? 1 : 0
                #expect(root["rejected"]?.integer == rejected, "\(result.errors)")
            }
        }
    }
}
