/// When a bot stops, or slows down, what it does to one document again and again.
///
/// How often a document *changes* is no matter: a document that people change often is never dead-lettered.
package struct EffectLimits: Sendable {
    /// The write that is not made any more: as often in a row, the same content of a document has led to a write within
    /// ``window``, and somebody has undone it.
    package var sameContent = 20
    /// The same with other contents in between: an app that switches to and fro undoes nothing, a longer circle of bots
    /// does.
    package var sameContentAmongOthers = 100
    /// In seconds.
    package var window = 600
    /// Writes to one document that may follow one another at once.
    package var burst = 30
    /// Writes to one document from then on.
    package var perMinute = 30

    package init() {}

    /// Why a document is dead-lettered whose content has led to so many writes; nil if it may be written once more.
    func reason(_ count: Ledger.EffectCount) -> String? {
        guard count.inARow >= sameContent - 1 || count.all >= sameContentAmongOthers - 1 else { return nil }
        return "the same content led to a write \(count.all) times in \(window / 60) minutes: somebody undoes what the "
            + "rules do, another bot or an app; it is decided again when its content changes"
    }
}
