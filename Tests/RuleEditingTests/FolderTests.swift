import Foundation
import RuleEditing
import Testing

/// Rule files on disk, with the files that they name.
@Suite struct FolderTests {
    private let folder: String

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "editing-\(UUID().uuidString)").path
        for name in ["rules", "assets/icons"] {
            try FileManager.default.createDirectory(atPath: folder + "/" + name, withIntermediateDirectories: true)
        }
        for name in ["assets/apple.png", "assets/pear tree.png", "assets/icons/a.png"] { try write(name, "x") }
    }

    private func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(filePath: folder + "/" + name))
    }

    private func cursor(_ marked: String) -> CursorText {
        CursorText(marked, path: folder + "/rules/r.yaml", isOnDisk: true)
    }

    private static let attach = beginning + "  - name: a\n    when: {}\n    then: [attach: { name: image, file: "

    private func remove() { try? FileManager.default.removeItem(atPath: folder) }

    @Test func filesAreCompleted() throws {
        defer { remove() }
        #expect(cursor(Self.attach + "../‸ }]\n").labels == ["../assets/", "../rules/"])
        #expect(
            cursor(Self.attach + "../assets/‸ }]\n").labels
                == ["../assets/apple.png", "../assets/icons/", "../assets/pear tree.png"])
        let text = cursor(Self.attach + "../assets/ap‸p.png }]\n").text(choosing: "../assets/apple.png")
        #expect(text == Self.attach + "../assets/apple.png }]\n")
        let start = String(Self.attach.dropLast("file: ".count))
        #expect(cursor(start + "folder: ../‸ }]\n").labels == ["../assets/", "../rules/"])
        #expect(cursor(start + "folder: ../assets, file: ap‸ }]\n").labels == ["apple.png"])
        #expect(cursor(start + "file: '../assets/pe‸' }]\n").labels == ["../assets/pear tree.png"])
        let test = "version: 1\ntests:\n  - expect: { attachments: { image: { file: ../assets/i‸ } } }\n"
        #expect(cursor(test).labels == ["../assets/icons/"])
        #expect(CursorText(Self.attach + "../‸ }]\n").labels == [])
    }

    @Test func missingFileIsAnErrorOnlyOnDisk() throws {
        defer { remove() }
        let text = Self.attach + "../assets/none.png }]\n"
        let file = EditedRuleFile(path: folder + "/rules/r.yaml", text: text, in: context)
        #expect(file.diagnostics.map(\.severity) == [.error])
        #expect(file.diagnostics.first?.message.contains("none.png' does not exist") == true)
        #expect(edited(text).diagnostics.allSatisfy { $0.severity == .warning })
    }

    @Test func changedFileIsReadAgain() async throws {
        defer { remove() }
        let text =
            Self.attach + "../assets/apple.png }]\n"
            + "tests:\n  - { name: t, given: { _id: t1 }, expect: { attachments: { image: { file: ../assets/pear.png } } } }\n"
        try write("assets/pear.png", "x")
        let path = folder + "/rules/r.yaml"
        let passed = await EditedRuleFile(path: path, text: text, in: context).run(test: 0, now: 0)
        #expect(passed.hasPassed, "\(passed.text)")
        try write("assets/pear.png", "other")
        let failed = await EditedRuleFile(path: path, text: text, in: context).run(test: 0, now: 0)
        #expect(failed.text.hasPrefix("the test 't' failed: attachments differs"), "\(failed.text)")
    }

    @Test func definitionsOfFilesAndRules() throws {
        defer { remove() }
        let file = cursor(Self.attach + "../assets/app‸le.png }]\n")
        guard case .file(let reference)? = file.file.definition(at: file.position) else {
            Issue.record("no definition")
            return
        }
        #expect(reference.path == folder + "/rules/../assets/apple.png")
        #expect(file.file.lines.text(file.file.lines.range(of: reference.range)) == "../assets/apple.png")
        let test = beginning + "  - name: first\n    when: {}\ntests:\n  - expect: { fired: [fi‸rst, other] }\n"
        let rule = cursor(test)
        guard case .here(let range)? = rule.file.definition(at: rule.position) else {
            Issue.record("no definition")
            return
        }
        #expect(range.start == TextPosition(line: 2, column: 10))
        #expect(
            cursor(test.replacing("‸", with: "").replacing("oth", with: "o‸th")).file.definition(at: rule.position)
                != nil)
        let other = cursor(test.replacing("‸", with: "").replacing("oth", with: "o‸th"))
        #expect(other.file.definition(at: other.position) == nil)
    }

    @Test func testsNameTheirFiles() throws {
        defer { remove() }
        let text =
            "tests:\n  - name: t\n    expect: { attachments: { a: { file: ../assets/apple.png } } }\n  - name: 'it''s'\nrules: {\n"
        let tests = EditedRuleFile(path: folder + "/rules/r.yaml", text: text, in: context).tests
        #expect(tests.map(\.name) == ["t", "it's"])
        #expect(tests.first?.files.map(\.path) == [folder + "/rules/../assets/apple.png"])
        #expect(tests.first?.range.start == TextPosition(line: 1, column: 10))
        #expect(tests.last?.extent.start == TextPosition(line: 3, column: 2))
    }

    @Test func sameNameInAnotherFileIsAWarning() throws {
        defer { remove() }
        let rule =
            beginning + "  - name: a\n    when: { type: task, b: { $exists: false } }\n    then: [merge: { b: 1 }]\n"
        try write("rules/other.yaml", rule)
        try write("rules/map.yaml", rule + "kind: mapping\n")
        let file = EditedRuleFile(path: folder + "/rules/r.yaml", text: rule, in: context)
        #expect(file.diagnostics.map(\.severity) == [.warning])
        #expect(
            file.diagnostics.first?.message.contains("another rule is named 'a' (\(folder)/rules/other.yaml:3)") == true
        )
        try write("rules/other.yaml", rule.replacing("name: a", with: "name: other"))
        #expect(file.diagnostics.isEmpty)
    }
}
