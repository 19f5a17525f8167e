import Foundation
import LosslessJSON
import TestKit
import Testing

@testable import BotState
@testable import changebot

/// The conclusions of checks on this machine, and the output of findings.
@Suite struct DoctorLocalCheckTests {
    // MARK: - The state folder

    private static let own = FileFacts(kind: .folder, mode: 0o700, owner: 7)
    private static let file = FileFacts(kind: .file, mode: 0o600, owner: 7)

    private func findings(
        _ folder: FileFacts? = own, problem: String? = nil, files: [(name: String, facts: FileFacts)] = [],
        states: [StateInspection] = []
    ) -> [Finding] {
        StateCheck.findings(
            StateFolder(path: "/s", folder: folder, ancestor: "/s", problem: problem, files: files, user: 7),
            .success(states))
    }

    @Test func usableFoldersPass() {
        #expect(findings().map(\.level) == [.ok])
        #expect(findings(nil)[0].text.contains("does not exist yet"))
        let state = StateInspection(
            path: "/s/a.sqlite", version: 1, address: "http://h/todo", checkpoint: "5",
            holder: "pid 3")
        let found = findings(files: [("a.sqlite", Self.file)], states: [state])
        #expect(found.map(\.level) == [.ok])
        for part in ["checkpoint 5", "http://h/todo", "in use by pid 3", "version 1"] {
            #expect(found[0].text.contains(part), "\(found)")
        }
    }

    @Test func unusableFoldersFail() {
        #expect(findings(Self.file).map(\.level) == [.error])
        #expect(findings(problem: "Permission denied")[0].text.contains("can't be written to: Permission denied"))
        #expect(findings(nil, problem: "/x is not a folder")[0].level == .error)
        let open = findings(FileFacts(kind: .folder, mode: 0o755, owner: 7))
        #expect(open.map(\.level) == [.warning, .ok] && open[0].remedy == "chmod 700 /s")
        #expect(findings(FileFacts(kind: .folder, mode: 0o700, owner: 8)).map(\.level) == [.warning, .ok])
        let exposed = findings(files: [("a.sqlite", FileFacts(kind: .file, mode: 0o644, owner: 7))])
        #expect(exposed.map(\.level) == [.warning, .ok] && exposed[0].text.contains("/s/a.sqlite (mode 0644)"))
        let foreign = findings(files: [("a.sqlite", FileFacts(kind: .file, mode: 0o600, owner: 9))])
        #expect(foreign.map(\.level) == [.warning, .ok])
        let newer = findings(states: [StateInspection(path: "/s/a.sqlite", version: 99, problem: "newer; use that")])
        #expect(newer == [Finding(.error, "/s/a.sqlite can't be used: newer", remedy: "use that")])
    }

    /// Root may write everywhere, except there.
    @Test func uncreatableFolderFails() async throws {
        #expect(FolderProbe.writeFailure("/proc") != nil)
        let folder = StateFolder(inspecting: "/proc/none/state", bot: "a")
        #expect(folder.ancestor == "/proc" && folder.problem != nil && folder.folder == nil)
        try await withDirectory { directory in
            #expect(FolderProbe.writeFailure(directory) == nil)
            let path = directory + "/file"
            try Data("x".utf8).write(to: URL(fileURLWithPath: path))
            let below = StateFolder(inspecting: path + "/state", bot: "a")
            #expect(below.problem?.contains("is not a folder") == true)
            #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == ["file"])
        }
    }

    @Test func linksAreNotFollowedForFiles() async throws {
        try await withDirectory { directory in
            let target = directory + "/target"
            try Data().write(to: URL(fileURLWithPath: target))
            try FileManager.default.createSymbolicLink(atPath: directory + "/a.sqlite", withDestinationPath: target)
            let folder = StateFolder(inspecting: directory, bot: "a")
            #expect(folder.files.map(\.facts.kind) == [.link])
            let states = try StateCatalogue(directory: directory, name: "a").inspect()
            #expect(states.first?.problem?.contains("not a regular file") == true)
        }
    }

    @Test(
        arguments: [
            (1 << 30, 100_000, .ok), (1 << 30, nil, .ok), (50 << 20, 100_000, .warning), (1 << 30, 500, .warning),
            (1 << 20, 100_000, .error), (1 << 30, 5, .error), (0, nil, .error),
        ] as [(Int, Int?, Finding.Level)])
    func diskSpaceIsChecked(bytes: Int, files: Int?, level: Finding.Level) {
        let check = DiskCheck(folder: "/s", freeBytes: bytes, freeFiles: files)
        #expect(check.finding.level == level)
        #expect(DiskCheck(folder: "/s", freeBytes: bytes, freeFiles: files, isReadOnly: true).finding.level == .error)
    }

    @Test func diskSpaceIsRead() throws {
        let check = try #require(DiskCheck(inspecting: NSTemporaryDirectory()))
        #expect(check.freeBytes > 0)
        #expect(DiskCheck(inspecting: "/no/such/folder") == nil)
    }

    // MARK: - Rules

    @Test func rulesAndTheirPicturesPass() {
        let found = RulesCheck([Program.pictureRules])
        #expect(found.rules.first?.level == .ok, "\(found.rules)")
        #expect(found.rules.first?.text.contains("1 file, 3 rules") == true, "\(found.rules)")
        #expect(found.pictures.map(\.level) == [.ok], "\(found.pictures)")
        #expect(found.pictures.first?.text.contains("3 files") == true, "\(found.pictures)")
        #expect(found.files.map(\.level) == [.skipped])
        let none = RulesCheck(nil)
        #expect((none.rules + none.pictures + none.files).map(\.level) == [.skipped, .skipped, .skipped])
    }

    /// Regression: files that are only used in tests counted too.
    @Test func onlyFilesThatRulesAttachAreCounted() async throws {
        try await withDirectory { folder in
            for name in ["a.png", "b.png"] { try Data("x".utf8).write(to: URL(fileURLWithPath: "\(folder)/\(name)")) }
            let text = """
                version: 1
                rules:
                  - { name: a, when: { type: t }, then: [{ ATTACH }] }
                tests:
                  - { name: t, given: { _id: a, type: t }, expect: { attachments: { i: { file: b.png } } } }

                """
            func pictures(_ action: String) throws -> [Finding] {
                let rules = text.replacing("ATTACH", with: action)
                try Data(rules.utf8).write(to: URL(fileURLWithPath: folder + "/r.yaml"))
                return RulesCheck([folder + "/r.yaml"]).pictures
            }
            let one = try pictures("attach: { name: i, file: a.png }")
            #expect(one == [.ok("1 file that a rule attaches, 1 byte in all")], "\(one)")
            #expect(try pictures("merge: { x: 1 }").map(\.level) == [.skipped])
        }
    }

    @Test func missingPictureFails() async throws {
        try await withDirectory { folder in
            let path = folder + "/r.yaml"
            let text =
                "version: 1\nrules:\n  - name: a\n    when: {}\n    then: [{ attach: { name: i, file: none.png } }]\n"
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            let found = RulesCheck([path])
            #expect(found.rules.map(\.level) == [.error], "\(found.rules)")
            #expect(found.rules.first?.text.contains("none.png") == true, "\(found.rules)")
            #expect(found.rules.first?.remedy != nil && found.pictures.map(\.level) == [.skipped])
        }
    }

    @Test func emptyPictureFolderFails() async throws {
        try await withDirectory { folder in
            try FileManager.default.createDirectory(atPath: folder + "/p", withIntermediateDirectories: true)
            let text = """
                version: 1
                rules:
                  - name: a
                    when: { type: task }
                    then: [{ attach: { name: i, folder: p, file: { jq: .task } } }]

                """
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/r.yaml"))
            #expect(RulesCheck([folder + "/r.yaml"]).pictures.map(\.level) == [.warning])
        }
    }

    // MARK: - The report

    @Test func findingsAreOrdered() {
        var order = FindingOrder(botCount: 1)
        func slot(_ check: DoctorCheck) -> DoctorSlot {
            DoctorSlot(bot: check == .libraries ? nil : 0, check: check)
        }
        #expect(order.finish(slot(.settings), [.ok("s")]).isEmpty)
        let ready = order.finish(slot(.libraries), [.ok("l")])
        #expect(ready.map(\.slot.check) == [.libraries, .settings])
        // Only the first result of a check counts.
        #expect(order.finish(slot(.settings), [.ok("again")]).isEmpty)
        for check in DoctorCheck.botChecks.reversed() { _ = order.finish(slot(check), []) }
        #expect(order.isComplete)
    }

    @Test func findingsArePrinted() throws {
        let lines = FindingLines(style: TerminalStyle(.never, isTerminal: false), bots: ["a", "b"])
        let slot = DoctorSlot(bot: 1, check: .settings)
        let finding = Finding(.warning, "it is\nso", remedy: "do that")
        let printed = lines.lines(slot, finding).map(\.text)
        #expect(printed == ["warning  settings      it is\\u000aso", String(repeating: " ", count: 23) + "→ do that"])
        #expect(lines.heading(slot).map(\.text) == ["", "bot b"])
        #expect(lines.heading(DoctorSlot(bot: nil, check: .libraries)).isEmpty)
        let json = try JSONText(lines.json(slot, finding)).root
        #expect(json.members.map { $0.name.string } == ["bot", "check", "level", "text", "remedy"])
        #expect(json["bot"]?.string == "b" && json["remedy"]?.string == "do that")
        let ofProgram = try JSONText(lines.json(DoctorSlot(bot: nil, check: .libraries), .ok("x"))).root
        #expect(ofProgram["bot"]?.kind == .null && ofProgram["remedy"]?.kind == .null)
        let colored = FindingLines(style: TerminalStyle(.always, isTerminal: true), bots: ["a"])
        #expect(colored.lines(slot, finding)[0].text.hasPrefix("\u{1B}[33mwarning"))
        #expect(colored.heading(slot).isEmpty)
    }

    @Test func librariesAreFoundInTheProcess() {
        let maps = """
            7f00-7f01 r--p 00000000 08:01 1 /usr/lib/x86_64-linux-gnu/libjq.so.1.0.4
            7f01-7f02 r-xp 00000000 08:01 1 /usr/lib/x86_64-linux-gnu/libjq.so.1.0.4
            7f02-7f03 r--p 00000000 08:01 1 /usr/lib/x86_64-linux-gnu/libjquery.so.9
            7f03-7f04 rw-p 00000000 00:00 0 [heap]

            """
        #expect(LibraryCheck.fileNames(in: maps, of: ["libjq", "libicui18n"]) == ["libjq.so.1.0.4"])
        let text = LibraryCheck.finding.text
        for name in ["libcurl ", "OpenSSL ", "zlib ", "json-c ", "SQLite 3", "PCRE2 10", "libjq.so", "libicui18n.so"] {
            #expect(text.contains(name), "\(text)")
        }
    }
}
