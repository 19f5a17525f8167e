internal import Glibc

/// Why a file could not be read.
package enum FileError: Error, Equatable, CustomStringConvertible {
    case missing(String)
    /// A pattern such as `rules/*.yaml` in place of a path.
    case pattern(String)
    case isFolder(String)
    case notAFile(String)
    case tooLarge(String, limit: Int)
    case unreadable(String, reason: String)
    /// A folder without rule files.
    case noRuleFiles(String)
    case notAFolder(String)
    /// A name in a document that leads out of its folder.
    case outside(String, folder: String)

    package var description: String { "'\(path)' \(message)" }

    var path: String {
        switch self {
        case .missing(let path), .pattern(let path), .isFolder(let path), .notAFile(let path), .tooLarge(let path, _),
            .unreadable(let path, _), .noRuleFiles(let path), .notAFolder(let path), .outside(let path, _):
            path
        }
    }

    /// What is wrong with the path, and what to do.
    var message: String {
        switch self {
        case .missing(let path): "does not exist; \(Self.unexpanded(path) ?? "correct the path or create the file")"
        case .pattern(let path):
            "does not exist: patterns are not expanded here; \(Self.folderAdvice(path)): all *.yaml, *.yml and *.json files "
                + "of a folder are read"
        case .isFolder: "is a folder; name a file in it"
        case .notAFile: "is not a regular file; name one"
        case .tooLarge(_, let limit): "is larger than \(limit) bytes; make it smaller"
        case .unreadable(_, let reason): "can't be read: \(reason); correct its permissions"
        case .noRuleFiles:
            "has no rule files (*.yaml, *.yml or *.json; subfolders are not read); correct the path, or add one"
        case .notAFolder: "is not a folder; name one"
        case .outside(_, let folder): "is not inside the folder '\(folder)'; name a file in it"
        }
    }
}

extension FileError {
    /// How to name the folder of a pattern. The path may be relative to a configuration file.
    private static func folderAdvice(_ pattern: String) -> String {
        let name = pattern.split(separator: "/").last.map(String.init) ?? pattern
        let folder = RulePath.folder(of: pattern) ?? ""
        if folder.contains(where: { "*?[{".contains($0) }) { return "name each folder" }
        return folder.isEmpty ? "name the folder, . for this one" : "leave '/\(name)' out, to name the folder"
    }

    /// What to do about a path that a shell would expand. Nil for other paths.
    private static func unexpanded(_ path: String) -> String? {
        let variable = path.contains("$") ? "variables" : nil
        let isHome = path.hasPrefix("~") || path.contains("/~/")
        guard let what = isHome ? "'~'" : variable else { return nil }
        return "\(what) \(isHome ? "is" : "are") not expanded here: write the whole path"
    }
}

/// Metadata that shows whether a file may have changed since it was read.
package struct FileVersion: Equatable, Sendable {
    package let isFolder: Bool
    package let size: Int
    /// The time of the last modification.
    let seconds: Int
    let nanoseconds: Int
}

/// Reads whole files into memory.
package enum FileBytes {
    package enum Kind {
        case file
        case folder
        case other
    }

    package static func kind(of path: String) throws(FileError) -> Kind {
        var status = stat()
        guard stat(path, &status) == 0 else { throw error(errno, path) }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return .file
        case S_IFDIR: return .folder
        default: return .other
        }
    }

    /// - Parameter limit: The maximum number of bytes that the file may have.
    package static func read(_ path: String, limit: Int) throws(FileError) -> [UInt8] {
        switch try kind(of: path) {
        case .file: break
        case .folder: throw .isFolder(path)
        case .other: throw .notAFile(path)
        }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw error(errno, path) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 64 << 10)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count < 0 {
                if errno == EINTR { continue }
                throw error(errno, path)
            }
            if count == 0 { return bytes }
            guard bytes.count + count <= limit else { throw .tooLarge(path, limit: limit) }
            bytes.append(contentsOf: chunk[..<count])
        }
    }

    /// The names in a folder, sorted by their bytes.
    package static func names(inFolder path: String) throws(FileError) -> [String] {
        guard let folder = opendir(path) else { throw error(errno, path) }
        defer { closedir(folder) }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// The path without links, `.` and `..`.
    static func realPath(_ path: String) throws(FileError) -> String {
        guard let real = realpath(path, nil) else { throw error(errno, path) }
        defer { free(real) }
        return String(cString: real)
    }

    package static func version(of path: String) throws(FileError) -> FileVersion {
        var status = stat()
        guard stat(path, &status) == 0 else { throw error(errno, path) }
        return FileVersion(
            isFolder: status.st_mode & S_IFMT == S_IFDIR, size: Int(status.st_size),
            seconds: status.st_mtim.tv_sec, nanoseconds: status.st_mtim.tv_nsec)
    }

    private static func error(_ code: Int32, _ path: String) -> FileError {
        if code == ENOENT || code == ENOTDIR { return .missing(path) }
        return .unreadable(path, reason: String(cString: strerror(code)))
    }
}
