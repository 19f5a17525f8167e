import Encodings
import Foundation
import Testing

@testable import Transfer

/// The location of files, and their names in messages.
@Suite struct PathTests {
    private func withFolder(_ body: (String) throws -> Void) throws {
        let folder = NSTemporaryDirectory() + "changebot-path-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try body(folder)
    }

    /// Regression: a folder of the same name in the current directory was used.
    @Test func attachmentsAreSearchedNextToExportFirst() {
        func places(_ folder: String, _ path: String) -> [String] { AttachmentFolderCandidates(folder, of: path).all }
        #expect(places("files", "../yesterday/o.ndjson") == ["../yesterday/files", "files"])
        #expect(places("today/files", "today/o.ndjson") == ["today/today/files", "today/files"])
        #expect(places("files", "o.ndjson") == ["./files", "files"])
        #expect(places("/a/files", "/b/o.ndjson") == ["/a/files", "/b/files"])
    }

    @Test func attachmentsAreFoundNextToLinkTarget() throws {
        try withFolder { folder in
            for name in ["real/files/sha256", "links"] {
                try FileManager.default.createDirectory(
                    atPath: folder + "/" + name, withIntermediateDirectories: true)
            }
            try Data().write(to: URL(fileURLWithPath: folder + "/real/o"))
            #expect(symlink("../real/o", folder + "/links/o") == 0)
            let found = AttachmentFolderCandidates("files", of: folder + "/links/o").found
            #expect(found.map { FileManager.default.fileExists(atPath: $0) } == true)
            #expect(AttachmentFolderCandidates("none", of: folder + "/links/o").found == nil)
        }
    }

    /// Regression: the file behind stdout was replaced, and other output to it was lost.
    @Test(arguments: [
        "/dev/stdout", "/dev/./stdout", "/dev/fd/1", "/proc/self/fd/1", "/proc/thread-self/fd/1",
    ])
    func linkToStreamResolvesToStream(target: String) throws {
        try withFolder { folder in
            #expect(symlink(target, folder + "/link") == 0)
            #expect(symlink("link", folder + "/second") == 0)
            for path in [target, folder + "/link", folder + "/second"] {
                guard case .special = OutputPath(path) else {
                    Issue.record("\(path): \(OutputPath(path))")
                    continue
                }
            }
            #expect(ExportPlace(target).canResume == false)
        }
    }

    /// This descriptor is a file, whatever stdout is in a test.
    @Test func fileDescriptorIsStreamThroughAnyNumberOfLinks() throws {
        try withFolder { folder in
            let descriptor = open(folder + "/file", O_RDWR | O_CREAT, 0o600)
            defer { close(descriptor) }
            #expect(symlink("/dev/fd/\(descriptor)", folder + "/link") == 0)
            #expect(symlink("link", folder + "/second") == 0)
            for name in ["link", "second"] {
                guard case .special = OutputPath(folder + "/" + name) else {
                    Issue.record("\(OutputPath(folder + "/" + name))")
                    continue
                }
                #expect(ExportPlace(folder + "/" + name).canResume == false)
            }
            #expect(OutputPath(folder + "/file") == .file(folder + "/file"))
        }
    }

    @Test(arguments: [
        ("files", "files"), ("/var/o-1.ndjson.gz", "/var/o-1.ndjson.gz"), ("my files", "'my files'"),
        ("it's", #"'it'\''s'"#), ("", "''"), ("$HOME", "'$HOME'"), ("a;b", "'a;b'"), ("~/o", "'~/o'"),
        ("Einkäufe", "Einkäufe"), ("a*", "'a*'"),
    ])
    func pathsAreQuotedForShell(path: String, word: String) { #expect(path.shellWord == word) }
}
