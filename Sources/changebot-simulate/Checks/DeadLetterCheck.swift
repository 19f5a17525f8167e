/// Checks the dead letters at a quiet moment.
enum DeadLetterCheck {
    /// Each is about a revision whose effect can fail, and its document's newest revision has failed, too: otherwise the
    /// rules were applied completely, and the dead letters of the document are obsolete.
    ///
    /// - Throws: ``Violation``.
    static func check(_ letters: [StateCheck.Letter], _ gateway: SimulatedGateway) throws {
        for letter in letters {
            let document = gateway.documents[letter.id]
            // It is about a database that was replaced.
            if gateway.replacements > 0, document?.revision(letter.revision) == nil { continue }
            guard let revision = document?.revision(letter.revision), Scenario.mayFail(revision, because: letter.reason)
            else {
                throw Violation(
                    guarantee: .deadLetters, detail: "\(letter.id) \(letter.revision.short) is one: \(letter.reason)")
            }
            // A revision of the bot that wins again, because another branch was deleted, is not decided again. Nor is one
            // on which no rule fires, if it was read while an older one was still failing.
            guard let winner = document?.winner, winner.author == .user, Scenario.effect(on: winner) != nil,
                !letters.contains(where: { $0.id == letter.id && $0.revision == winner.id })
            else { continue }
            throw Violation(
                guarantee: .deadLetters,
                detail: "\(letter.id) \(letter.revision.short) still is one, but "
                    + "\(winner.id.short) is not: \(letter.reason)")
        }
    }
}
