/// Decides which documents are read before they are written.
struct LookupPolicy: Sendable {
    /// One of so many batches of upserts is written without reading, to notice that documents are new again.
    private static let batchesPerTrial = 32

    private let mode: ImportMode
    private let isDryRun: Bool
    /// Whether most recent documents existed already, so that reading before writing is cheaper.
    private(set) var expectsDocuments = false

    init(_ mode: ImportMode, isDryRun: Bool) {
        self.mode = mode
        self.isDryRun = isDryRun
    }

    func needsLookup(_ document: ImportDocument, isFirstAttempt: Bool) -> Bool {
        if !isFirstAttempt || isDryRun || expectsDocuments { return true }
        switch mode {
        case .merge, .delete: return true
        // For streamed documents, it avoids sending large attachments in vain.
        case .insert, .upsert, .restore: return document.hasBareStubs || document.isStreamed || document.isDeletion
        }
    }

    /// Learns from the first attempt of a batch whether to read first: documents whose write met a conflict existed
    /// already.
    ///
    /// - Parameters:
    ///   - again: How many of them must be tried again.
    ///   - isTrial: When it reads first there are no conflicts to learn from, so it sometimes tries without.
    mutating func noteFirstAttempt(
        of documents: Int, again: Int, isTrial: @autoclosure () -> Bool = Int.random(in: 0..<batchesPerTrial) == 0
    ) {
        guard mode == .upsert else { return }
        expectsDocuments = expectsDocuments ? !isTrial() : again * 2 > documents
    }
}
