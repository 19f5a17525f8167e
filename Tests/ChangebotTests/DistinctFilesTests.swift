import Foundation
import Testing

@testable import changebot

@Suite struct DistinctFilesTests {
    /// The folder `d` with the files `a` and `b`, the link `l` to `a`, and the link `e` to the folder.
    private func withFiles(_ body: (String) throws -> Void) async throws {
        try await Program.withDirectory { directory in
            let folder = directory + "/d"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            for name in ["a", "b"] { try Data().write(to: URL(fileURLWithPath: folder + "/" + name)) }
            try FileManager.default.createSymbolicLink(atPath: folder + "/l", withDestinationPath: folder + "/a")
            try FileManager.default.createSymbolicLink(atPath: directory + "/e", withDestinationPath: folder)
            try body(directory)
        }
    }

    @Test(
        arguments: [
            ("d/a", "d/b", false), ("d/a", "d/a", true), ("d/a", "d/l", true), ("d/a", "e/a", true),
            ("d/a", "d/../d/./a", true), ("d/a", "d/new", false), ("d/new", "d/newer", false), ("d/new", "e/new", true),
            ("d/new", "e/../d/new", true), ("none/new", "none/./new", true), ("none/new", "none/newer", false),
        ])
    func fileIsRecognizedUnderAnyName(one: String, other: String, isSame: Bool) async throws {
        try await withFiles { directory in
            let files: [(name: String, path: String?)] = [
                ("--output", "\(directory)/\(one)"), ("--reject", nil), ("--summary", "\(directory)/\(other)"),
            ]
            var failure: CommandError?
            do throws(CommandError) { try DistinctFiles.check(files) } catch { failure = error }
            #expect((failure?.code == .usage) == isSame)
            #expect(failure?.description.contains("--summary") != false)
            #expect(failure?.description.contains("--output") != false)
        }
    }

    @Test func onlyNamedFilesCount() throws {
        try DistinctFiles.check([("FILE", "-"), ("--output", "-"), ("--summary", nil), ("--reject", nil)])
        try DistinctFiles.check([("--output", "/dev/null"), ("--summary", "/dev/null")])
        #expect(throws: CommandError.self) { try DistinctFiles.check([("--output", "")]) }
    }
}
