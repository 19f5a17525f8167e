internal import Glibc

/// The files of emitted lines, on a disk that is never lost. Each complete line counts once it is synced.
final class LineFiles {
    let folder: String
    /// What is synced, by inode.
    private(set) var synced: [UInt64: [UInt8]] = [:]
    /// Called with each new line, without its line feed.
    var note: ([UInt8]) -> Void = { _ in }
    /// Whether a line feed follows a truncated line, for ``Breakage``.
    var keepsHalfLines = false

    init(folder: String) { self.folder = folder }

    /// Whether a synced file is one of these.
    func includes(_ inode: UInt64, _ descriptor: Int32) -> Bool {
        if synced[inode] != nil { return true }
        guard isLines(descriptor) else { return false }
        synced[inode] = []
        // Open, so that the inode of a deleted file is not used again.
        _ = fcntl(descriptor, F_DUPFD_CLOEXEC, 0)
        return true
    }

    /// - Parameter isTorn: Whether the power fails before everything is written.
    func noteSync(_ inode: UInt64, _ content: [UInt8], isTorn: Bool) {
        let before = synced[inode] ?? []
        var content = content
        if keepsHalfLines, isTorn, content.last != UInt8(ascii: "\n"), !content.isEmpty {
            content.append(UInt8(ascii: "\n"))
        }
        synced[inode] = content
        // A truncated last line is removed before the next one is written.
        let common = zip(before, content).prefix { $0 == $1 }.count
        let start = content[..<common].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        for line in content[start...].split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
        {
            note(Array(line))
        }
    }

    /// After a power failure, the files are as they were synced.
    ///
    /// - Returns: The names of those that differ.
    func loseTails() -> [String] {
        Disk.names(in: folder).filter { name in
            let path = "\(folder)/\(name)"
            guard let (inode, content) = Disk.read(path), let left = synced[inode], left != content else {
                return false
            }
            Disk.replace(path, by: left)
            return true
        }
    }

    private func isLines(_ descriptor: Int32) -> Bool {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/fd/\(descriptor)", &target, target.count - 1)
        guard count > 0 else { return false }
        return String(decoding: target.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self).hasSuffix(".ndjson")
    }
}
