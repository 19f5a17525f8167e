/// Checks the dead letters at a quiet moment.
enum DeadLetterCheck {
    /// Each is about a revision whose effect can fail. It may be an outdated one: a newer revision that was read before an
    /// older one failed does not make the dead letter obsolete.
    ///
    /// - Parameter crashed: Documents and revisions during whose decision processes of a fleet have ended.
    /// - Throws: ``Violation``.
    static func check(
        _ letters: [StateCheck.Letter], _ gateway: SimulatedGateway, except crashed: Set<String>
    ) throws {
        for letter in letters where !crashed.contains("\(letter.id) \(letter.revision)") {
            let document = gateway.documents[letter.id]
            // It is about a database that was replaced.
            if gateway.replacements > 0, document?.revision(letter.revision) == nil { continue }
            guard let revision = document?.revision(letter.revision), Scenario.mayFail(revision, because: letter.reason)
            else {
                throw Violation(
                    guarantee: .deadLetters, detail: "\(letter.id) \(letter.revision.short) is one: \(letter.reason)")
            }
        }
    }
}
