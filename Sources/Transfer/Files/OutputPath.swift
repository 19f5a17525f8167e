internal import Foundation

/// What the path of a file that is to be written leads to.
package enum OutputPath: Equatable, Sendable {
    /// A regular file, or none yet: the path of the file itself, where links lead to it.
    case file(String)
    /// A pipe or a device, or a stream of this process such as `/dev/stdout`: written to as it is.
    case special(String)
    case folder(String)
    /// Nothing can be written there.
    case unusable(String, reason: String)

    private static let longestChain = 40

    package init(_ path: String) {
        var information = stat()
        guard stat(path, &information) == 0 else {
            self = errno == ENOENT ? Self.behindLinks(path) : .unusable(path, reason: String(cString: strerror(errno)))
            return
        }
        switch information.st_mode & S_IFMT {
        case S_IFDIR: self = .folder(path)
        case S_IFSOCK: self = .unusable(path, reason: "it is a socket")
        // A stream is written where it stands, even if it goes to a file.
        case S_IFREG: self = Self.behindLinks(path)
        default: self = .special(path)
        }
    }

    /// The file behind links, which stay, whether it is there or not.
    private static func behindLinks(_ path: String) -> OutputPath {
        var path = path
        for _ in 0..<longestChain {
            if isStream(path) { return .special(path) }
            var information = stat()
            guard lstat(path, &information) == 0, information.st_mode & S_IFMT == S_IFLNK else { return .file(path) }
            var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
            guard readlink(path, &buffer, buffer.count - 1) > 0 else { return .file(path) }
            let target = buffer.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" }
            path = target.hasPrefix("/") ? target : WholeFile.directory(of: path) + "/" + target
        }
        return .unusable(path, reason: String(cString: strerror(ELOOP)))
    }

    /// Whether the path names an open stream of this process, or of another one. A link to one is none itself.
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

    /// The folder, without links: `/dev/fd` and `/proc/self/fd` lead to the same one. Empty if it is not there.
    private static func entry(_ path: String) -> (folder: String, name: String) {
        guard let folder = realpath(WholeFile.directory(of: path), nil) else { return ("", "") }
        defer { free(folder) }
        return (String(cString: folder), path.split(separator: "/").last.map(String.init) ?? "")
    }

    /// Why a file can't be opened or made, for people.
    ///
    /// - Parameter code: The system's `errno`.
    package static func obstacle(_ code: Int32, to path: String) -> String {
        let folder = WholeFile.directory(of: path)
        guard code == ENOENT, !WholeFile.exists(folder) else { return String(cString: strerror(code)) }
        return "there is no folder \(folder); make it, or choose another path"
    }

    /// The file itself, where links lead to one; else the path as it is.
    package static func resolved(_ path: String) -> String {
        if case .file(let file) = OutputPath(path) { file } else { path }
    }
}
