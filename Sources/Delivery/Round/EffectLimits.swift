internal import BotState

/// When a bot stops or delays repeated writes to one document.
///
/// How often a document *changes* does not matter: a document that people change often is never dead-lettered.
package struct EffectLimits: Sendable {
    /// The 20th consecutive write within ``window`` that the same content leads to is refused: another client undoes
    /// each.
    package var sameContent = 20
    /// The same with other contents in between. An app that toggles a value undoes nothing; a longer loop of bots does.
    package var sameContentAmongOthers = 100
    /// The period in which writes are counted, in seconds.
    package var window = 600
    /// How many writes to one document may follow without a wait.
    package var burst = 30
    /// How many writes to one document per minute are allowed after that.
    package var perMinute = 30

    /// The limits of `changebot run`.
    package init() {}

    /// Why a document with this count is dead-lettered; nil if it may be written again.
    func refusalReason(after count: EarlierWrites.EffectCount) -> String? {
        guard count.consecutive >= sameContent - 1 || count.all >= sameContentAmongOthers - 1 else { return nil }
        return "the rules have made the same change \(count.all) times in \(window / 60) minutes: another bot or an "
            + "app undoes it; the document is processed again when its content changes"
    }
}
