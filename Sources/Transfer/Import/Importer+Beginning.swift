internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Logging

extension Importer {
    /// Where the run begins.
    ///
    /// - Throws: ``TransferError``: `.foreign` if the progress file belongs to another import; `RunError` if the gateway
    ///   does not answer, `CancellationError`.
    func beginning(
        _ identity: ImportIdentity, _ database: ImportProgress.DatabaseState
    ) async throws -> (ImportProgress, isResumed: Bool) {
        var new = ImportProgress(identity, now: Timestamp.secondsNow)
        new.database = database
        if !settings.isResuming, settings.preview == nil {
            do { try await warnAboutUnfinished(identity, database) } catch let error as RunError {
                // This run does not depend on it.
                logger.debug("the interrupted import was not looked at", metadata: [LogKey.reason: "\(error)"])
            }
        }
        guard settings.isResuming, let path = settings.progressPath, let bytes = try WholeFile.read(path) else {
            // The earlier run may have finished and removed the file just before it was killed.
            return (new, settings.isResuming)
        }
        guard let progress = ImportProgress(bytes) else {
            throw TransferError(.foreign, "\(path) is not the progress file of an import; start again without --resume")
        }
        if let objection = try await objection(to: progress, identity, database) {
            throw TransferError(
                .foreign, "\(path) belongs to another import: \(objection); start again without --resume")
        }
        logger.notice("continuing an interrupted import", metadata: [LogKey.documents: "\(progress.input.documents)"])
        // A check is cheap and starts over.
        return (progress.pass == 0 && settings.schema != nil ? new : progress, true)
    }

    /// Warns a user who repeats an interrupted import that it could be resumed.
    private func warnAboutUnfinished(
        _ identity: ImportIdentity, _ database: ImportProgress.DatabaseState
    ) async throws {
        guard let path = settings.progressPath, let bytes = try WholeFile.read(path),
            let progress = ImportProgress(bytes), try await objection(to: progress, identity, database) == nil
        else { return }
        logger.warning(
            settings.mode == .insert
                ? "an import of this input was interrupted: --resume continues it; now it starts from the beginning, and documents that exist are rejected"
                : "an import of this input was interrupted: --resume continues it; now it starts from the beginning",
            metadata: [LogKey.documents: "\(progress.input.documents)"])
    }

    /// Why an interrupted import is not this one; nil if it is.
    private func objection(
        to progress: ImportProgress, _ identity: ImportIdentity, _ database: ImportProgress.DatabaseState
    ) async throws -> String? {
        if let objection = progress.identity.objection(to: identity) { return objection }
        return try await databaseCheck.confirm(progress.objection(to: database))
    }

    /// What shows later that the database was made anew.
    func databaseState(_ info: DatabaseInfo) -> ImportProgress.DatabaseState {
        let keepsInstance = gateway.dialect.keepsInstance
        return ImportProgress.DatabaseState(
            instance: keepsInstance ? info.instance : nil,
            newest: keepsInstance ? nil : info.newestSequence.flatMap { Int($0.description) })
    }
}
