internal import Revisions

/// The folders in which an export's attachments may be found. Exports are moved, and read from other directories.
struct AttachmentFolderCandidates: Sendable, Equatable {
    /// The most likely path comes first.
    let all: [String]

    /// - Parameters:
    ///   - folder: The folder as named at export time.
    ///   - path: The export. If it is a link, the folder may be next to the link or next to its target.
    init(_ folder: String, of path: String) {
        let name = folder.split(separator: "/").last.map(String.init) ?? folder
        let directories = [path, OutputPath.resolved(path)].map { FileOperations.directory(of: $0) }
        // A folder of this name in the current directory may belong to another export.
        let adjacent = directories.flatMap {
            folder.hasPrefix("/") ? ["\($0)/\(name)"] : ["\($0)/\(folder)", "\($0)/\(name)"]
        }
        let places = folder.hasPrefix("/") ? [folder] + adjacent : adjacent + [folder]
        all = places.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// Checks a folder that was given on the command line.
    ///
    /// - Throws: ``TransferError``: `.missing` if it does not exist.
    static func checked(_ folder: String) throws(TransferError) -> String {
        if FileOperations.exists(folder) { return folder }
        throw TransferError(
            .missing, "there is no folder \(folder); name the export's attachment folder with --attachments")
    }

    /// The first folder that contains attachments; nil if none does.
    var found: String? { all.first { FileOperations.exists("\($0)/sha256") } }
}
