import Encodings
import Foundation
import Testing

@testable import Rules

@Suite struct RuleSetTests {
    /// Creates a folder that exists while `body` runs.
    private func withFolder(_ files: [String: String], _ body: (String) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "rules-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, text) in files {
            let file = folder.appending(path: name)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }
        try body(folder.path)
    }

    private func rule(_ name: String, then: String = "[]") -> String {
        "version: 1\nrules: [{name: \(name), when: {}, then: \(then)}]\n"
    }

    @Test func folderIsReadInNameOrder() throws {
        let json = #"{"version": 1, "rules": [{"name": "c", "when": {}, "then": []}]}"#
        let files = [
            "b.yml": rule("b"), "a.yaml": rule("a"), "c.json": json, "d.txt": "no rules", ".e.yaml": "hidden",
            "sub/f.yaml": "not looked for",
        ]
        try withFolder(files) { folder in
            let all = try RuleSet.load(paths: [folder])
            #expect(all.names == ["a", "b", "c"])
            let two = try RuleSet.load(paths: [folder + "/c.json", folder + "/a.yaml"])
            #expect(two.names == ["c", "a"])
        }
    }

    @Test func missingFilesAreNotInvalidFiles() throws {
        try withFolder(["good.yaml": rule("a"), "bad.yaml": "version: 1\n", "empty/x.txt": ""]) { folder in
            func kind(_ names: String...) -> RuleFilesError.Kind? {
                do throws(RuleFilesError) {
                    _ = try RuleSet.load(paths: names.map { folder + "/" + $0 })
                    return nil
                } catch {
                    return error.kind
                }
            }
            #expect(kind("good.yaml") == nil)
            #expect(kind("none.yaml") == .missing)
            #expect(kind("good.yaml/x") == .missing)
            #expect(kind("empty") == .missing)
            #expect(kind("bad.yaml") == .invalid)
            #expect(kind("none.yaml", "bad.yaml") == .invalid)
            #expect(kind("good.yaml", "none.yaml") == .missing)
        }
    }

    @Test func errorsOfAllFilesAreReportedTogether() throws {
        let files = ["a.yaml": "version: 1\n", "b.yaml": rule("x") + "more: 1\n", "c.yaml": rule("x")]
        try withFolder(files) { folder in
            let error = try #require(throws: RuleFilesError.self) {
                try RuleSet.load(paths: [folder, folder + "/none.yaml"])
            }
            let lines = error.description.split(separator: "\n")
            #expect(lines.count == 4)
            #expect(lines[0].hasPrefix("\(folder)/a.yaml:1:1: 'rules' is missing"))
            #expect(lines[1].hasPrefix("\(folder)/b.yaml:3:1: 'more' is not known"))
            #expect(lines[2].hasPrefix("\(folder)/c.yaml:2:9: another rule is named 'x' (\(folder)/b.yaml:2); rename"))
            #expect(lines[3].hasPrefix("\(folder)/none.yaml: does not exist"))
        }
    }

    @Test func attachedFilesAreRelativeAndAffectTheHash() throws {
        let then = "[{attach: {name: n, folder: ../files, file: note.txt}}]"
        let files = [
            "rules/r.yaml": rule("a", then: then), "files/note.txt": "one", "other/r.yaml": rule("a", then: then),
        ]
        try withFolder(files) { folder in
            let set = try RuleSet.load(paths: [folder + "/rules/r.yaml"])
            #expect(try RuleSet.load(paths: [folder + "/other"]).hash == set.hash)
            let attachment = try #require(set.decide(#"{"_id":"x"}"#).attachments["n"])
            #expect(attachment.contentType == "text/plain")
            #expect(String(decoding: attachment.content.base64, as: UTF8.self) == "b25l")
            try Data("two".utf8).write(to: URL(fileURLWithPath: folder + "/files/note.txt"))
            #expect(try RuleSet.load(paths: [folder + "/rules/r.yaml"]).hash != set.hash)
        }
    }

    /// More than gateways accept, so that the gateway refuses the attachment.
    @Test func attachedFileMayHaveSixtyFourMebibytes() throws {
        let then = "[{attach: {name: n, file: big.bin}}]"
        try withFolder(["r.yaml": rule("a", then: then)]) { folder in
            let big = URL(fileURLWithPath: folder + "/big.bin")
            try Data(count: 64 << 20).write(to: big)
            #expect(try RuleSet.load(paths: [folder]).count == 1)
            try Data(count: (64 << 20) + 1).write(to: big)
            let error = try #require(throws: RuleFilesError.self) { try RuleSet.load(paths: [folder]) }
            #expect(error.description.contains("r.yaml:2:61: '\(folder)/big.bin' is larger than 67108864 bytes"))
        }
    }

    @Test(arguments: [("Apple", "apple"), ("COFFEE", "coffee"), ("potatoes", "potatoes")])
    func shippedRulesAttachThePictures(task: String, picture: String) throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let set = try RuleSet.load(paths: [root.appending(path: "rules/attach-images.yaml").path])
        let decision = try set.decide(#"{"_id":"t","type":"task","task":"\#(task)"}"#)
        let file = try Data(contentsOf: root.appending(path: "assets/\(picture).png"))
        #expect(decision.attachments["image"]?.content.sha256 == Digest.sha256.hex(Array(file)))
        #expect(decision.attachments["image"]?.contentType == "image/png")
        #expect(try set.fired(#"{"_id":"t","type":"task","task":"\#(task)s"}"#) == [])
        #expect(try set.fired(#"{"_id":"t","task":"\#(task)","_attachments":{"image":{}}}"#) == [])
    }
}
