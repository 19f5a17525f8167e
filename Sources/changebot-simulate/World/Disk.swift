internal import Glibc

/// What is on the simulated disk: each file as it was at its last sync.
///
/// The files themselves are real, in a folder for each process. A killed process leaves them as they are, because the
/// system still writes what it has. After a power failure, the next process finds what was synced.
final class Disk {
    /// By inode, because files are synced before they get their name.
    private var synced: [UInt64: [UInt8]] = [:]
    /// Open, so that the inode of a deleted file is not used again. Closed with the files of the process.
    private var kept: Set<UInt64> = []
    /// Whether a file was synced since this was last cleared.
    var hasSynced = false
    let lines = LineFiles(folder: Scenario.linesFolder)
    /// Set if the power fails during the next sync: how many of the new bytes are then on the disk.
    var tearNext: Tear?
    /// Whether the power has failed during a sync. The process does nothing more.
    private(set) var isTorn = false
    /// The names and the inodes at that moment: in the same step, the process may still delete files.
    private var left: [(name: String, inode: UInt64)] = []
    /// Where the files of the process are.
    var directory = ""

    func noteSync(_ descriptor: Int32) {
        guard !isTorn else { return }
        var information = stat()
        guard fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG else {
            hasSynced = true
            return
        }
        var content = [UInt8](repeating: 0, count: Int(information.st_size))
        let count = pread(descriptor, &content, content.count, 0)
        content.removeLast(content.count - max(0, count))
        let inode = UInt64(information.st_ino)
        let isLines = lines.includes(inode, descriptor)
        if let tear = tearNext, isLines || !tear.isOfLines {
            (isTorn, tearNext) = (true, nil)
            left = Self.names(in: directory).compactMap { name in
                Self.read("\(directory)/\(name)").map { (name, $0.inode) }
            }
            content = Self.torn((isLines ? lines.synced[inode] : synced[inode]) ?? [], content, tear.part)
        }
        hasSynced = !isTorn
        if isLines { return lines.noteSync(inode, content, isTorn: isTorn) }
        synced[inode] = content
        if kept.insert(inode).inserted { _ = fcntl(descriptor, F_DUPFD_CLOEXEC, 0) }
    }

    /// A power failure during a sync.
    struct Tear {
        /// Whether it happens while lines are written, or at the next sync of any file.
        let isOfLines: Bool
        /// How many of the new bytes are on the disk, for their number.
        let part: (Int) -> Int
    }

    private static func torn(_ old: [UInt8], _ new: [UInt8], _ part: (Int) -> Int) -> [UInt8] {
        let same = zip(old, new).prefix { $0 == $1 }.count
        let end = same + part(new.count - same)
        return Array(new[..<end] + old.dropFirst(end))
    }

    /// Makes the folder in which the next process finds the files of an ended one.
    ///
    /// - Parameters:
    ///   - losesTail: Whether everything that was not synced is lost.
    ///   - files: The files of a copy to begin with; nil: those of the ended process.
    /// - Returns: The names of the files that are lost or shorter.
    func move(from old: String, to new: String, losesTail: Bool, replacedBy files: [String: [UInt8]]?) -> [String] {
        let losesTail = losesTail || isTorn
        mkdir(new, 0o700)
        var lost: [String] = []
        var found: [UInt64: [UInt8]] = [:]
        // Sorted: the order of a folder is not the same in each run.
        for (name, content) in (files ?? [:]).sorted(by: { $0.key < $1.key }) {
            if let inode = Self.write(content, "\(new)/\(name)") { found[inode] = content }
        }
        for (name, inode, content) in entries(of: old) where files == nil && !name.hasSuffix("-shm") {
            let left = losesTail ? synced[inode] : content
            if left != content { lost.append(name) }
            guard let left, let copy = Self.write(left, "\(new)/\(name)") else { continue }
            found[copy] = synced[inode]
        }
        if losesTail { lost += lines.loseTails() }
        Self.closeFiles(in: old)
        // Not deleted: SQLite would mistake a new file with the same inode for one that the ended process had open.
        for name in Self.names(in: old) { truncate("\(old)/\(name)", 0) }
        (synced, kept, isTorn, left) = (found, [], false, [])
        return lost
    }

    /// The names, inodes and contents of the files of a process.
    private func entries(of folder: String) -> [(name: String, inode: UInt64, content: [UInt8])] {
        guard !isTorn else { return left.map { ($0.name, $0.inode, []) } }
        return Self.names(in: folder).compactMap { name in
            Self.read("\(folder)/\(name)").map { (name, $0.inode, $0.content) }
        }
    }

    /// The files as they are now.
    func files(in folder: String) -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for name in Self.names(in: folder) where !name.hasSuffix("-shm") {
            files[name] = Self.read("\(folder)/\(name)")?.content
        }
        return files
    }

    /// Replaces the content of a file.
    static func replace(_ path: String, by content: [UInt8]) {
        truncate(path, 0)
        _ = write(content, path)
    }

    static func names(in folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    static func read(_ path: String) -> (inode: UInt64, content: [UInt8])? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var information = stat()
        guard fstat(descriptor, &information) == 0, information.st_mode & S_IFMT == S_IFREG else { return nil }
        var content = [UInt8](repeating: 0, count: Int(information.st_size))
        let count = pread(descriptor, &content, content.count, 0)
        return (UInt64(information.st_ino), Array(content.prefix(max(0, count))))
    }

    /// - Returns: The inode.
    private static func write(_ content: [UInt8], _ path: String) -> UInt64? {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var information = stat()
        guard Glibc.write(descriptor, content, content.count) == content.count, fstat(descriptor, &information) == 0
        else { return nil }
        return UInt64(information.st_ino)
    }

    /// The kernel closes the files of a killed process. Its objects still exist here, but never run again.
    private static func closeFiles(in folder: String) {
        guard let path = realpath(folder, nil) else { return }
        defer { free(path) }
        let prefix = String(cString: path) + "/"
        for name in names(in: "/proc/self/fd") {
            var target = [CChar](repeating: 0, count: Int(PATH_MAX))
            let count = readlink("/proc/self/fd/\(name)", &target, target.count - 1)
            guard count > 0, let descriptor = Int32(name) else { continue }
            let file = String(decoding: target.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
            if file.hasPrefix(prefix) { close(descriptor) }
        }
    }
}
