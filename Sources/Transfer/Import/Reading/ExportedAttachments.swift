internal import DocumentFlow
internal import LosslessJSON

/// Where an export's manifest says that its attachments are.
struct ExportedAttachments {
    /// As the export named it.
    let folder: String
    /// Attachments whose bytes are in the folder.
    let count: Int
    /// The export.
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

    /// The folder; nil if there is none.
    var found: String? { AttachmentPlaces(folder, of: path).found }

    /// Why an import that needs the folder can't begin.
    var absence: TransferError {
        TransferError(
            .missing,
            "the folder with the \(count.counted("attachment")) of \(path) is not there (\(folder)): name it with "
                + "--attachments DIR; with --ignore-manifest only attachments that the gateway has already are kept")
    }
}

extension JSONValue {
    /// A number of things or bytes in a file of ours: not negative, and small enough to be added to. Nil for others.
    var count: Int? { integer.flatMap { (0...1 << 53).contains($0) ? $0 : nil } }
}
