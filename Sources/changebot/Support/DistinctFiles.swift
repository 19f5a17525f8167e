internal import Foundation

/// The files that a command is told to read and write: each has a name, and none of them is another one's too.
enum DistinctFiles {
    /// A file exists once, under however many names; one that does not exist yet is known by its folder and name.
    private enum Identity: Hashable {
        case file(device: UInt, number: UInt)
        case path(String)
    }

    /// Compares each with each.
    ///
    /// - Parameter files: What each is called in messages, `--summary`, and its path. Nil, `-` and what is no regular file
    ///   (a pipe, a device) do not count.
    /// - Throws: ``CommandFailure`` with 64 that names two that are one file, or the one whose path is empty.
    static func check(_ files: [(name: String, path: String?)]) throws(CommandFailure) {
        var names: [Identity: String] = [:]
        for (name, path) in files {
            guard let path, path != "-" else { continue }
            guard !path.isEmpty else { throw CommandFailure(.usage, "\(name): the file's name is empty") }
            guard let identity = identity(of: path) else { continue }
            if let other = names.updateValue(name, forKey: identity) {
                throw CommandFailure(
                    .usage, "\(name) \(path) is the file of \(other) too: one would overwrite the other; choose another"
                )
            }
        }
    }

    /// Nil for what is no regular file.
    private static func identity(of path: String) -> Identity? {
        var information = stat()
        guard stat(path, &information) == 0 else { return .path(absolute(path)) }
        guard information.st_mode & S_IFMT == S_IFREG else { return nil }
        return .file(device: UInt(information.st_dev), number: UInt(information.st_ino))
    }

    /// Without links and dots in the way to the file, if there is such a way.
    private static func absolute(_ path: String) -> String {
        let file = URL(fileURLWithPath: path)
        guard let folder = realpath(file.deletingLastPathComponent().path, nil) else {
            return file.standardizedFileURL.path
        }
        defer { free(folder) }
        return String(cString: folder) + "/" + file.lastPathComponent
    }
}
