internal import Locking
internal import TodoData

/// The passes of one import, one after the other.
struct ImportRun {
    let settings: ImportSettings
    let reader: ImportReader
    let admission: DocumentAdmission
    let writer: ImportWriter
    let journal: ImportJournal
    let report: ImportReport
    let isStopped: Locked<Bool>
    let beginning: ImportProgress

    /// - Throws: `SourceError`, after the last pass, if the input could not be read to its end.
    func run() async throws {
        var failure: SourceError?
        var orders = Set(0..<TodoSchema.orderCount)
        for (pass, purpose) in passes.enumerated() where pass >= beginning.pass {
            if case .order(let order) = purpose, !orders.contains(order) { continue }
            try await journal.begin(pass: pass)
            var current = ImportPass(purpose, from: await journal.progress.items, of: self)
            if let error = try await current.run() { failure = error }
            if isStopped.withLock({ $0 }) { return }
            if purpose == .check {
                orders = current.orders
                try await journal.check(isFinal: true)
            }
        }
        if let failure {
            try await journal.save()
            throw failure
        }
    }

    private var passes: [ImportPass.Purpose] {
        guard settings.schema != nil else { return [.all] }
        return [.check] + (0..<TodoSchema.orderCount).map { .order($0) }
    }
}
