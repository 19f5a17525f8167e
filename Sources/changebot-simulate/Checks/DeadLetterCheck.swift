/// Checks the dead letters at a quiet moment.
struct DeadLetterCheck {
    /// How long it may take until a newer revision is decided, with what may delay it, in nanoseconds.
    private static let delay: Int64 = 130_000_000_000

    /// When each was recorded, by document and revision.
    private var recorded: [String: Int64] = [:]
    /// When users last wrote each document.
    private var edited: [String: Int64] = [:]

    mutating func note(_ document: StoredDocument, _ revision: StoredRevision, at uptime: Int64) {
        if revision.author == .user { edited[document.id] = uptime }
    }

    mutating func note(_ letters: [StateCheck.Letter], at uptime: Int64) {
        for letter in letters { recorded["\(letter.id) \(letter.revision)"] = uptime }
    }

    /// One about an outdated revision is removed once the rules were applied to a newer one.
    ///
    /// - Throws: ``Violation``.
    func checkObsolete(_ letters: [StateCheck.Letter], _ gateway: SimulatedGateway, at uptime: Int64) throws {
        let current = Set(letters.map { "\($0.id) \($0.revision)" })
        for letter in letters {
            guard let document = gateway.documents[letter.id], let winner = document.winner,
                document.revision(letter.revision) != nil, document.leaves.count == 1, letter.revision != winner.id,
                !current.contains("\(letter.id) \(winner.id)"), let edited = edited[letter.id],
                let recorded = recorded["\(letter.id) \(letter.revision)"], recorded < edited,
                edited < uptime - Self.delay
            else { continue }
            throw Violation(
                guarantee: .deadLetters,
                detail: "\(letter.id) \(letter.revision.short) is still one, although the rules were applied to "
                    + "\(winner.id.short) after that: \(letter.reason)")
        }
    }

    /// Each is about a revision whose effect can fail. It may be an outdated one: a newer revision that was read before an
    /// older one failed does not make the dead letter obsolete.
    ///
    /// - Parameters:
    ///   - crashed: Documents and revisions during whose decision processes of a fleet have ended.
    ///   - isTooLong: Whether a list may have had more items than the rule allows.
    /// - Throws: ``Violation``.
    static func check(
        _ letters: [StateCheck.Letter], _ gateway: SimulatedGateway, except crashed: Set<String>,
        isTooLong: (_ list: String, StoredRevision) -> Bool
    ) throws {
        for letter in letters where !crashed.contains("\(letter.id) \(letter.revision)") {
            let document = gateway.documents[letter.id]
            // It is about a database that was replaced.
            if gateway.replacements > 0, document?.revision(letter.revision) == nil { continue }
            guard let revision = document?.revision(letter.revision),
                Scenario.mayFail(revision, because: letter.reason),
                isTooLong(letter.id, revision)
            else {
                throw Violation(
                    guarantee: .deadLetters, detail: "\(letter.id) \(letter.revision.short) is one: \(letter.reason)")
            }
        }
    }
}
