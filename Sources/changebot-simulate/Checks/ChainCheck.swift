/// Checks that a rule which leads to itself by what it puts ends.
struct ChainCheck {
    /// How much trouble there was when each chain began.
    private var began: [Int: Int] = [:]

    /// A process that is killed, or that gets no answer, does not know that it has put a document. Then this is another
    /// chain.
    ///
    /// - Parameter trouble: How often any has occurred.
    /// - Throws: ``Violation``.
    mutating func note(_ document: StoredDocument, _ revision: StoredRevision, trouble: Int) throws {
        guard let (chain, step) = Scenario.domino(document.id) else { return }
        guard revision.author != .user else {
            began[chain] = trouble
            return
        }
        guard step > Scenario.chainLimit * (1 + trouble - (began[chain] ?? 0)) else { return }
        throw Violation(
            guarantee: .loops, detail: "a chain of puts goes on after \(step) steps: \(document.id)")
    }
}
