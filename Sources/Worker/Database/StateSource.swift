package import Pipeline

/// Where a run has its state from.
package enum StateSource: Sendable {
    /// It is there, and is somebody else's to close.
    case opened(Ledger)
    /// It is opened once the database is known.
    case chosen(StatePlace)

    /// Whether nothing is to be changed, in the database either.
    var isReadOnly: Bool {
        switch self {
        case .opened(let ledger): ledger.access == .preview
        case .chosen(let place): place.purpose == .preview || place.purpose == .previewOfExisting
        }
    }
}

/// The states of a bot, and the address of the database that one of them belongs to.
package struct StatePlace: Sendable {
    let catalogue: StateCatalogue
    let address: String
    let ruleSetHash: String
    let purpose: StateCatalogue.Purpose

    /// - Parameter address: The gateway's URL, or `embedded:FILE`: an embedded gateway listens elsewhere each time.
    package init(
        _ catalogue: StateCatalogue, address: String, ruleSetHash: String, purpose: StateCatalogue.Purpose
    ) {
        self.catalogue = catalogue
        self.address = address
        self.ruleSetHash = ruleSetHash
        self.purpose = purpose
    }
}

/// The state of the database that a run works on.
struct RunState: Sendable {
    let ledger: Ledger
    /// Where the database was reached before, if it is reached at a new address now.
    var formerAddress: String?
    let isOwned: Bool

    func close() {
        if isOwned { ledger.close() }
    }
}
