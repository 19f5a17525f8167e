/// Checks that the bot stops writing a content that another app always undoes.
struct DuelCheck {
    /// The bot does not know of writes whose answers were lost, and these may be frequent.
    private static let unknown = 25

    /// The process that answered last, what it wrote about, and how often.
    private var last: (process: Int, content: DocumentBody, count: Int)?

    /// - Throws: ``Violation``.
    mutating func noteAnswer(by process: Int, _ content: DocumentBody) throws {
        let count = last.map { $0.process == process && $0.content == content ? $0.count + 1 : 1 } ?? 1
        last = (process, content, count)
        guard count > Scenario.duelLimit + Self.unknown else { return }
        throw Violation(
            guarantee: .loops,
            detail: "bot \(process) has made the same change \(count) times, although an app always undoes it")
    }
}
