internal import DocumentFlow
internal import Encodings
internal import LosslessJSON

/// The attachments of an export according to its manifest.
struct ExportedAttachments {
    /// The folder as named at export time.
    let folder: String
    /// How many attachments have their bytes in the folder.
    let count: Int
    /// The path of the export.
    private let path: String

    /// Nil if the export has no folder of attachments.
    init?(_ manifest: JSONValue, besides path: String) {
        guard manifest["options"]?["attachments"]?.string == "folder",
            let folder = manifest["options"]?["folder"]?.string, !folder.isEmpty
        else { return nil }
        self.folder = folder
        self.path = path
        count = manifest["attachments"]?["bodies"]?.count ?? 0
    }

    /// The folder's current path; nil if it is not found.
    var found: String? { AttachmentPlaces(folder, of: path).found }

    /// The error of an import that needs the folder.
    var absence: TransferError {
        TransferError(
            .missing,
            "the folder with the \(count.counted("attachment")) of \(path) is missing (\(folder)): name it with "
                + "--attachments DIR; with --ignore-manifest only attachments that the gateway already has are kept")
    }
}

extension JSONValue {
    /// A count in one of our files: from 0 to 2^53, so that sums don't overflow. Nil for other values.
    var count: Int? { integer.flatMap { (0...1 << 53).contains($0) ? $0 : nil } }
}
