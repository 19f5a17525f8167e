internal import Glibc

/// Judges the free space on a file system.
struct DiskCheck: Sendable, Equatable {
    private static let minBytes = (warning: 100 << 20, error: 5 << 20)
    private static let minFiles = (warning: 1000, error: 10)

    /// A folder on the file system.
    let folder: String
    /// Space that this user may still use.
    let freeBytes: Int
    /// How many files can still be created (inodes); nil if the file system does not limit them.
    let freeFiles: Int?
    var isReadOnly = false

    var finding: Finding {
        if isReadOnly {
            return Finding(
                .error, "the file system of \(folder) is read-only",
                remedy: "mount it for writing, or choose another folder with --state")
        }
        let files = freeFiles.map { ", for \(Quantity.count($0, "file"))" } ?? ""
        let text = "\(Quantity.size(freeBytes)) free at \(folder)\(files)"
        let isBelow = { (limits: (bytes: Int, files: Int)) in
            freeBytes < limits.bytes || freeFiles.map { $0 < limits.files } ?? false
        }
        let remedy = "free some space: a bot that can't write its state exits with 74"
        if isBelow((Self.minBytes.error, Self.minFiles.error)) {
            return Finding(.error, text, remedy: remedy)
        }
        if isBelow((Self.minBytes.warning, Self.minFiles.warning)) {
            return Finding(.warning, text, remedy: remedy)
        }
        return .ok(text)
    }
}

extension DiskCheck {
    /// Asks the system; nil if it reports nothing.
    ///
    /// - Note: Source: `statvfs(3)`. File systems that allocate inodes on demand report 0.
    init?(inspecting folder: String) {
        var facts = statvfs()
        guard statvfs(folder, &facts) == 0 else { return nil }
        self.folder = folder
        freeBytes = Int(clamping: facts.f_bavail) * Int(clamping: facts.f_frsize)
        freeFiles = facts.f_files == 0 ? nil : Int(clamping: facts.f_favail)
        isReadOnly = facts.f_flag & 1 != 0
    }
}
