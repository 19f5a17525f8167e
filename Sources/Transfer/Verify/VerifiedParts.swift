internal import DocumentFlow
package import Logging

/// What `verify` could check, and what it could not because the export lacks it.
package struct VerifiedParts: Sendable, Equatable {
    /// Attachments whose bytes are in the export.
    package var verifiedAttachments = 0
    /// Attachments whose bytes are not in the export, and all attachments of a table.
    package var unverifiedAttachments = 0
    /// Whether only the encrypted file was compared with the manifest, not its documents.
    package var isEncrypted = false
    /// Documents that the gateway did not return when the export was made.
    let unreadableDocuments: Int
    /// Attachments that the gateway did not return when the export was made.
    let missingAttachments: Int

    init(_ counts: ExportCounts) {
        unreadableDocuments = counts.unreadable
        missingAttachments = counts.missingBodies
    }

    /// Logs what could not be verified.
    package func logUnverifiedParts(in file: ExportFile, to logger: Logger) {
        if isEncrypted {
            logger.notice("the export is encrypted: its documents were not checked; decrypt it to check them")
        }
        if unreadableDocuments > 0 {
            logger.warning(
                "the export lacks documents that could not be read when it was made",
                metadata: [LogKey.documents: "\(unreadableDocuments)"])
        }
        if missingAttachments > 0 {
            logger.warning(
                "the export lacks attachments that could not be read when it was made",
                metadata: [LogKey.attachments: "\(missingAttachments)"])
        }
        let others = unverifiedAttachments - missingAttachments
        guard others > 0 else { return }
        logger.notice(
            file.manifest.options.format.isTable
                ? "the attachments of a table can't be verified"
                : "the bytes of these attachments are not in the export and can't be verified",
            metadata: [LogKey.attachments: "\(others)"])
    }
}
