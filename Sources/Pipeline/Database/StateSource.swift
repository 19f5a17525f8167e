/// Where a run gets its state.
package enum StateSource: Sendable {
    /// It is already open, and the caller closes it.
    case opened(Ledger)
    /// It is opened once the database is known.
    case chosen(StatePlace)

    /// A dry run: nothing is changed, in the database either.
    var isReadOnly: Bool {
        switch self {
        case .opened(let ledger): ledger.access == .preview
        case .chosen(let place): place.purpose == .preview || place.purpose == .previewOfExisting
        }
    }
}

/// The states of a bot, and the address of the database whose state is wanted.
package struct StatePlace: Sendable {
    let catalogue: StateCatalogue
    let address: String
    let ruleSetHash: String
    let purpose: StateCatalogue.Purpose

    /// - Parameter address: The gateway's URL, or `embedded:FILE` because the port of an embedded gateway differs each
    ///   time.
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
    /// The earlier address of the database, if it is reached at a new one now.
    var formerAddress: String?
    let isOwned: Bool

    func close() {
        if isOwned { ledger.close() }
    }
}
