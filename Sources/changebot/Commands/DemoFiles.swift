internal import CEmbeddedFiles
internal import FoundationEssentials
internal import Glibc
internal import LosslessJSON
internal import Rules

extension embedded_file {
    /// The contents of the file at build time.
    var content: [UInt8] { Array(UnsafeBufferPointer(start: bytes, count: length)) }
}

/// The files of the demonstration, which are embedded in the program. They are written to a temporary folder while the
/// rules are read.
struct DemoFiles {
    private let folder: String

    /// - Throws: ``CommandError`` with 73 if the files can't be written.
    private init() throws(CommandError) {
        folder = FileManager.default.temporaryDirectory.path + "/changebot-demo-\(UUID().uuidString)"
        do { for (path, bytes) in Self.embedded { try write(bytes, to: path) } } catch {
            let reason = String(cString: strerror(errno))
            remove()
            throw CommandError(.cannotCreate, "can't write the demo's files to \(folder): \(reason)")
        }
    }

    private func remove() { try? FileManager.default.removeItem(atPath: folder) }

    /// The files: their paths inside the folder, and their contents.
    static var embedded: [(path: String, bytes: [UInt8])] {
        (0..<demo_file_count).map { index in
            let file = demo_file_at(index).pointee
            return (String(cString: file.path), file.content)
        }
    }

    private func write(_ bytes: [UInt8], to path: String) throws {
        let file = URL(fileURLWithPath: "\(folder)/\(path)")
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        try Data(bytes).write(to: file)
    }

    /// The rules, with the pictures that they attach.
    static func ruleSet() throws -> RuleSet {
        let files = try DemoFiles()
        defer { files.remove() }
        return try RuleSet.load(paths: [files.folder + "/rules/attach-images.yaml"])
    }

    static func groceries() throws(CommandError) -> [JSONText] {
        var lines: [JSONText] = []
        for (index, line) in asset("groceries.ndjson").split(separator: UInt8(ascii: "\n")).enumerated() {
            do throws(JSONError) { lines.append(try JSONText(Array(line))) } catch {
                throw CommandError(.bug, "groceries.ndjson:\(index + 1): \(error)")
            }
        }
        return lines
    }

    static func asset(_ name: String) -> [UInt8] { embedded.first { $0.path == "assets/\(name)" }?.bytes ?? [] }
}
