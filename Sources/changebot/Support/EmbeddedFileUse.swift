internal import DocumentFlow
internal import EmbeddedGateway
internal import FoundationEssentials
internal import Logging

/// How a command treats the file of an embedded gateway. A mistyped path must not look like an empty database.
struct EmbeddedFileUse {
    /// For commands that need existing documents: the file must exist.
    static let existing = EmbeddedFileUse()

    /// For `run`, which waits for documents: a missing file is created.
    static func following(isDryRun: Bool) -> EmbeddedFileUse {
        EmbeddedFileUse(createsFile: true, isDryRun: isDryRun)
    }

    /// For `import`, which adds documents: a missing file is created, and all existing documents may be in other
    /// collections.
    static func importing(isDryRun: Bool) -> EmbeddedFileUse {
        EmbeddedFileUse(createsFile: true, mayBeFirst: true, isDryRun: isDryRun)
    }

    /// For `resolve`: the file must exist, and keeps conflicting leaves.
    static let resolving = EmbeddedFileUse(keepsConflicts: true)

    /// For the target of `replicate`: a missing file is created, and keeps conflicting leaves.
    static let replicating = EmbeddedFileUse(createsFile: true, mayBeFirst: true, keepsConflicts: true)

    private var createsFile = false
    private var mayBeFirst = false
    private var isDryRun = false
    /// Whether the gateway keeps several leaves of a document.
    private(set) var keepsConflicts = false

    /// - Throws: ``CommandError`` with 66 if the file is missing and this command does not create it.
    func require(_ file: String) throws(CommandError) {
        guard !createsFile, !FileManager.default.fileExists(atPath: file) else { return }
        throw CommandError(.missingInput, "there is no file \(file); correct the path in embedded:FILE")
    }

    /// - Returns: Nil if a dry run must use an empty database in memory, because the file does not exist.
    /// - Throws: ``CommandError`` with 66 if the file is missing and this command does not create it.
    func fileToOpen(_ file: String, _ logger: Logger) throws(CommandError) -> String? {
        try require(file)
        guard isDryRun, !FileManager.default.fileExists(atPath: file) else { return file }
        logger.warning(
            "the database file does not exist; without --dry-run, it is created", metadata: [LogKey.file: "\(file)"])
        return nil
    }

    /// - Throws: ``CommandError`` with 66 if all documents of the file are in collections that `embedded:` does not
    ///   serve, unless this command adds documents.
    func checkCollections(of gateway: EmbeddedGateway, _ file: String, _ logger: Logger) throws {
        let others = try gateway.unservedCollections()
        guard !others.isEmpty else { return }
        guard mayBeFirst else {
            throw CommandError(
                .missingInput,
                "\(file) has no documents in the default collection, only in \(others.joined(separator: ", ")); "
                    + "serve these with 'changebot gateway --data FILE --config FILE' and use their URL")
        }
        logger.warning(
            "this file only has documents in other collections; new documents go to the default collection",
            metadata: [LogKey.file: "\(file)", "collections": "\(others.joined(separator: ","))"])
    }
}
