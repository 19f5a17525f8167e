internal import FoundationEssentials
internal import Glibc
internal import Revisions

/// What kind of output a path leads to.
package enum OutputPath: Equatable, Sendable {
    /// A regular file, or a path where none exists yet; links are resolved.
    case file(String)
    /// A pipe, a device, or a stream of this process such as `/dev/stdout`; written to directly.
    case special(String)
    case folder(String)
    /// Nothing can be written to this path.
    case unusable(String, reason: String)

    private static let maxChainLength = 40

    /// Inspects the file system. Does not open or create anything.
    package init(_ path: String) {
        var information = stat()
        guard stat(path, &information) == 0 else {
            self =
                errno == ENOENT ? Self.resolvingLinks(path) : .unusable(path, reason: String(cString: strerror(errno)))
            return
        }
        switch information.st_mode & S_IFMT {
        case S_IFDIR: self = .folder(path)
        case S_IFSOCK: self = .unusable(path, reason: "it is a socket")
        // A stream of the process is written to directly, even if it is redirected to a file.
        case S_IFREG: self = Self.resolvingLinks(path)
        default: self = .special(path)
        }
    }

    /// Resolves links, even if the target does not exist. The links themselves are kept.
    private static func resolvingLinks(_ path: String) -> OutputPath {
        var path = path
        for _ in 0..<maxChainLength {
            if isStream(path) { return .special(path) }
            var information = stat()
            guard lstat(path, &information) == 0, information.st_mode & S_IFMT == S_IFLNK else { return .file(path) }
            var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
            guard readlink(path, &buffer, buffer.count - 1) > 0 else { return .file(path) }
            let target = buffer.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
            path = target.hasPrefix("/") ? target : FileOperations.directory(of: path) + "/" + target
        }
        return .unusable(path, reason: String(cString: strerror(ELOOP)))
    }

    /// Whether the path is itself an open stream of some process; a link to one is not.
    private static func isStream(_ path: String) -> Bool {
        let (folder, name) = entry(path)
        return folder == "/dev" && ["stdout", "stderr"].contains(name)
            || folder.hasPrefix("/proc/") && folder.hasSuffix("/fd")
    }

    /// Whether the path names the stdout of this process.
    static func isStandardOutput(_ path: String) -> Bool {
        let (folder, name) = entry(path)
        return folder == "/dev" && name == "stdout" || folder == "/proc/\(getpid())/fd" && name == "1"
    }

    /// The folder with links resolved, because `/dev/fd` and `/proc/self/fd` lead to the same folder; empty if it is
    /// missing.
    private static func entry(_ path: String) -> (folder: String, name: String) {
        guard let folder = realpath(FileOperations.directory(of: path), nil) else { return ("", "") }
        defer { free(folder) }
        return (String(cString: folder), path.split(separator: "/").last.map(String.init) ?? "")
    }

    /// The path of the file that links lead to; any other path unchanged.
    package static func resolved(_ path: String) -> String {
        if case .file(let file) = OutputPath(path) { file } else { path }
    }
}
