internal import FoundationEssentials
internal import Glibc
internal import Transfer

/// The files that a command reads and writes. Checks that no output is the same file as another output or an input.
struct DistinctFiles {
    typealias NamedFile = (name: String, path: String?)

    /// Identifies a file: by device and inode, so that links are recognised, or by its path if it does not exist yet.
    private enum Identity: Hashable {
        case file(device: UInt, number: UInt)
        case path([UInt8])
    }

    /// The outputs. Outputs with the same name may be the same file. Nil, `-`, pipes and devices are ignored.
    var outputs: [NamedFile] = []
    /// The inputs. One file may occur several times.
    var inputs: [NamedFile] = []
    /// Folders in which no output may have these extensions. Without extensions, no output may be there at all.
    private var folders: [Folder] = []

    private struct Folder {
        let name: String
        let path: String
        let isDeep: Bool
        let endings: [String]
    }

    /// Adds rule files and folders. A file written to such a folder would be read as a rule file by the next run.
    mutating func read(rules paths: [String], _ name: String) {
        for path in paths {
            let endings = ["yaml", "yml", "json"]
            inputs.append((name, path))
            folders.append(Folder(name: name, path: path, isDeep: false, endings: endings))
            // A link in the folder may point to a file elsewhere.
            for file in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
            where endings.contains(where: { file.hasSuffix("." + $0) }) {
                inputs.append((name, path + "/" + file))
            }
        }
    }

    /// Adds a folder and everything in it.
    mutating func read(tree path: String?, _ name: String) {
        if let path { folders.append(Folder(name: name, path: path, isDeep: true, endings: [])) }
    }

    /// Adds a bot's state folder. Outputs there must not have the extension of a state file.
    mutating func read(state path: String) {
        let endings = ["sqlite", "sqlite-wal", "sqlite-shm", "sqlite-journal", "lock"]
        folders.append(Folder(name: "the state", path: path, isDeep: true, endings: endings))
    }

    /// - Throws: ``CommandError`` with 64 if two options name the same file, or one has an empty path.
    func check() throws(CommandError) {
        var names: [Identity: String] = [:]
        for (name, path) in outputs {
            guard let identity = try Self.identity(name, path) else { continue }
            if let other = names.updateValue(name, forKey: identity), other != name {
                throw Self.duplicateFileError(name, path, other)
            }
        }
        for (name, path) in inputs {
            guard let identity = try Self.identity(name, path), let output = names[identity] else { continue }
            let written = outputs.first { $0.name == output }?.path
            throw Self.duplicateFileError(output, written, name)
        }
        for (name, path) in outputs {
            guard let path, path != "-", case .file(let file) = OutputPath(path) else { continue }
            for folder in folders where Self.isInside(file, folder) {
                throw CommandError(
                    .usage,
                    "\(name) \(path) is inside \(folder.path), which \(folder.name) reads; choose another path"
                )
            }
        }
    }

    /// Checks that no two of these outputs are the same file.
    static func check(_ files: [NamedFile]) throws(CommandError) { try DistinctFiles(outputs: files).check() }

    init(outputs: [NamedFile] = [], inputs: [NamedFile] = []) {
        self.outputs = outputs
        self.inputs = inputs
    }

    private static func duplicateFileError(_ name: String, _ path: String?, _ other: String) -> CommandError {
        CommandError(
            .usage,
            "\(name) and \(other) are the same file, \(path ?? ""): one would overwrite the other; choose another path")
    }

    private static func identity(_ name: String, _ path: String?) throws(CommandError) -> Identity? {
        guard let path, path != "-" else { return nil }
        guard !path.isEmpty else { throw CommandError(.usage, "\(name): the file's name is empty") }
        var information = stat()
        if stat(path, &information) == 0 {
            guard information.st_mode & S_IFMT == S_IFREG, case .file = OutputPath(path) else { return nil }
            return .file(device: UInt(information.st_dev), number: UInt(information.st_ino))
        }
        return .path(Array(absolute(OutputPath.resolved(path)).utf8))
    }

    private static func isInside(_ file: String, _ folder: Folder) -> Bool {
        guard let root = real(folder.path) else { return false }
        let path = absolute(file)
        guard path.hasPrefix(root == "/" ? root : root + "/") else { return false }
        let url = URL(fileURLWithPath: path)
        guard folder.isDeep || url.deletingLastPathComponent().path == root else { return false }
        return folder.endings.isEmpty || folder.endings.contains(url.pathExtension)
    }

    /// The path with links and dots resolved in its folder, if that folder exists.
    private static func absolute(_ path: String) -> String {
        let file = URL(fileURLWithPath: path)
        guard let folder = real(file.deletingLastPathComponent().path) else { return file.standardizedFileURL.path }
        return (folder == "/" ? "" : folder) + "/" + file.lastPathComponent
    }

    private static func real(_ path: String) -> String? {
        guard let real = realpath(path, nil) else { return nil }
        defer { free(real) }
        return String(cString: real)
    }
}
