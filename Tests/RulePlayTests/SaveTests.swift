import Foundation
import LosslessJSON
import TestKit
import Testing

@testable import RulePlay

/// How the page opens and saves files.
@Suite struct SaveTests {
    private func save(_ bed: PlayTestBed, _ text: String, over version: String) async throws -> (Int, JSONValue) {
        let (status, answer) = try await bed.ask(
            "save", #"{"file":0,"text":\#(text.json),"fileVersion":\#(version.json)}"#)
        return (status, answer)
    }

    private func version(_ bed: PlayTestBed) async throws -> String {
        try await bed.ask("open", #"{"file":0}"#).answer["fileVersion"]?.string ?? ""
    }

    @Test func textIsSavedAsTyped() async throws {
        let text = "# a comment \n\nversion: 1   # more\nrules: []\n\n\n# the end"
        try await PlayTestBed.with { bed in
            let first = try await version(bed)
            let (status, answer) = try await save(bed, text, over: first)
            #expect(status == 200)
            #expect(bed.text == text)
            let next = try #require(answer["fileVersion"]?.string)
            #expect(next != first)
            #expect(try await version(bed) == next)
            #expect(try await save(bed, "version: 1\n", over: next).0 == 200)
        }
    }

    @Test func changedFileIsNotOverwritten() async throws {
        try await PlayTestBed.with { bed in
            let version = try await version(bed)
            try Data("# theirs\n".utf8).write(to: URL(fileURLWithPath: bed.folder + "/r.yaml"))
            let (status, answer) = try await save(bed, "# mine\n", over: version)
            #expect(status == 409)
            #expect(answer["text"]?.string == "# theirs\n")
            #expect(answer["error"]?.string?.contains("another program has changed") == true)
            #expect(bed.text == "# theirs\n")
            // The user has seen it, and overwrites it.
            #expect(try await save(bed, "# mine\n", over: answer["fileVersion"]?.string ?? "").0 == 200)
            #expect(bed.text == "# mine\n")
        }
    }

    @Test func deletedFileIsAConflict() async throws {
        try await PlayTestBed.with { bed in
            let version = try await version(bed)
            try FileManager.default.removeItem(atPath: bed.folder + "/r.yaml")
            let (status, answer) = try await save(bed, "# mine\n", over: version)
            #expect(status == 409 && answer["text"] == nil && answer["isDeleted"]?.bool == true)
            // Regression: another program was said to have changed it, and its text could be loaded.
            #expect(answer["error"]?.string?.hasSuffix("create it again with your text, or download your text") == true)
            #expect(!FileManager.default.fileExists(atPath: bed.folder + "/r.yaml"))
            #expect(try await save(bed, "# mine\n", over: answer["fileVersion"]?.string ?? "").0 == 200)
            #expect(bed.text == "# mine\n")
        }
    }

    @Test func newFileBeginsWithAnExampleWithoutWarnings() async throws {
        try await PlayTestBed.with(nil) { bed in
            let answer = try await bed.ask("open", #"{"file":0}"#).answer
            #expect(answer["isNew"]?.bool == true)
            let text = try #require(answer["text"]?.string)
            let lines = try await bed.evaluate(text)
            #expect(lines.string("diagnostics") == "[]")
            #expect(lines["tests"]?.elements.allSatisfy { $0["passed"]?.bool == true } == true)
            #expect(bed.samples.count == 4)
            #expect(!FileManager.default.fileExists(atPath: bed.folder + "/r.yaml"))
            #expect(try await save(bed, text, over: "missing").0 == 200)
            #expect(bed.text == text)
        }
    }

    /// Another program has created the file meanwhile.
    @Test func newFileThatAppearsIsAConflict() async throws {
        try await PlayTestBed.with(nil) { bed in
            try Data("# theirs\n".utf8).write(to: URL(fileURLWithPath: bed.folder + "/r.yaml"))
            #expect(try await save(bed, "# mine\n", over: "missing").0 == 409)
            #expect(bed.text == "# theirs\n")
        }
    }

    @Test(arguments: [[0xFF, 0xFE, 0x61], [0x61, 0x00, 0x62]] as [[UInt8]])
    func fileThatIsNoTextIsNotEdited(_ bytes: [UInt8]) async throws {
        try await PlayTestBed.with { bed in
            try Data(bytes).write(to: URL(fileURLWithPath: bed.folder + "/r.yaml"))
            let answer = try await bed.ask("open", #"{"file":0}"#).answer
            #expect(answer["unreadable"]?.string?.contains("is not text in UTF-8") == true)
            #expect(answer["text"]?.kind == .null)
            let version = try await version(bed)
            #expect(try await save(bed, "x", over: version).0 == 422)
        }
    }

    /// Regression: the page offered to overwrite the folder.
    @Test func fileThatBecameAFolderIsNamed() async throws {
        try await PlayTestBed.with { bed in
            let version = try await version(bed)
            let path = bed.folder + "/r.yaml"
            try FileManager.default.moveItem(atPath: path, toPath: path + ".old")
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            let (status, answer) = try await save(bed, "# mine\n", over: version)
            #expect(status == 422 && answer["fileVersion"] == nil)
            let error = answer["error"]?.string ?? ""
            #expect(error.hasPrefix("'\(path)' is a folder now; remove or rename the folder. "), "\(error)")
            #expect(error.hasSuffix("your text is still in the editor: save it again afterwards, or download it"))
            // With the file in its place again, the same version can be saved.
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.moveItem(atPath: path + ".old", toPath: path)
            #expect(try await save(bed, "# mine\n", over: version).0 == 200)
            #expect(bed.text == "# mine\n")
        }
    }

    @Test func folderThatIsGoneIsNamed() async throws {
        try await PlayTestBed.with { bed in
            let version = try await version(bed)
            try FileManager.default.removeItem(atPath: bed.folder)
            let (status, answer) = try await save(bed, "# mine\n", over: version)
            #expect(status == 409 && answer["isDeleted"]?.bool == true)
            #expect(answer["error"]?.string?.contains("was deleted with its folder") == true)
            try FileManager.default.createDirectory(atPath: bed.folder, withIntermediateDirectories: false)
            #expect(try await save(bed, "# mine\n", over: "missing").0 == 200)
        }
    }

    @Test func fullDiskIsNamed() async throws {
        struct Full: Error, CustomStringConvertible {
            let description = "can't write r.yaml: No space left on device"
        }
        let change: (inout PlaySettings) -> Void = { $0.write = { _, _ in throw Full() } }
        try await PlayTestBed.with(change: change) { bed in
            let (status, answer) = try await save(bed, "# mine\n", over: try await version(bed))
            #expect(status == 422)
            #expect(
                answer["error"]?.string?.hasPrefix("can't write r.yaml: No space left on device. The file is as")
                    == true)
            #expect(bed.text == PlayTestBed.rules)
        }
    }

    @Test func longTextIsRefused() async throws {
        let text = String(repeating: "#", count: PlayFile.lengthLimit + 1)
        try await PlayTestBed.with { bed in
            let version = try await version(bed)
            #expect(try await save(bed, text, over: version).0 == 422)
            #expect(bed.text == PlayTestBed.rules)
        }
    }

    /// Regression: several pages were told that they had saved. All but one have lost their text.
    @Test func onlyOneOfSeveralPagesSaves() async throws {
        let slowly: FileWriting = { bytes, path in
            for _ in 0..<200 { try Data(bytes).write(to: URL(fileURLWithPath: path + ".part")) }
            try Data(bytes).write(to: URL(fileURLWithPath: path))
        }
        let change: (inout PlaySettings) -> Void = { $0.write = slowly }
        try await PlayTestBed.with(change: change) { bed in
            for round in 0..<5 {
                let version = try await version(bed)
                let saved = try await withThrowingTaskGroup(of: (String, Int).self) { group in
                    for page in 0..<8 {
                        let text = "# round \(round), page \(page)\n"
                        group.addTask { (text, try await save(bed, text, over: version).0) }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(saved.filter { $0.1 == 200 }.map(\.0) == [bed.text])
                #expect(saved.filter { $0.1 == 409 }.count == 7)
            }
        }
    }

    /// Only the files of the command line can be named.
    @Test func otherFilesCantBeWritten() async throws {
        try await PlayTestBed.with { bed in
            for file in [#""../x""#, "1", "-1", "null"] {
                let body = #"{"file":\#(file),"text":"x","fileVersion":"missing"}"#
                let answer = try await bed.ask("save", body)
                #expect([400, 404].contains(answer.status))
            }
            let files = try FileManager.default.contentsOfDirectory(atPath: bed.folder)
            #expect(files == ["r.yaml"])
        }
    }

    @Test(arguments: [
        ("a\r\nb\r\nc", "a\nb2\nc\nd", "a\r\nb2\r\nc\r\nd"), ("a\nb\r\nc\n", "a\nb\nc\nd\n", "a\nb\r\nc\nd\n"),
        ("a\rb", "a\nc", "a\rc"), ("a\nb", "a\nb\n", "a\nb\n"), ("", "a\n", "a\n"), ("a\r\n", "", ""),
        ("a\r\nb\nc\r\n", "x\na\nb\nc\n", "x\r\na\r\nb\nc\r\n"),
        ("é\r\n\u{1F34E}\r\n", "é\n!\u{1F34E}\n", "é\r\n!\u{1F34E}\r\n"),
    ]) func lineEndingsAreKept(_ file: String, _ edited: String, _ saved: String) {
        #expect(LineEndings(file).restored(edited) == saved)
        #expect(LineEndings(file).restored(LineEndings(file).plain).utf8.elementsEqual(file.utf8))
    }

    @Test func fileWithCarriageReturnsIsShownAndSaved() async throws {
        let text = PlayTestBed.rules.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r\n")
        try await PlayTestBed.with(text) { bed in
            let answer = try await bed.ask("open", #"{"file":0}"#).answer
            #expect(answer["text"]?.string == PlayTestBed.rules)
            _ = try await save(bed, "# new\n" + PlayTestBed.rules, over: try await version(bed))
            #expect(bed.text.utf8.elementsEqual(("# new\r\n" + text).utf8))
        }
    }
}
