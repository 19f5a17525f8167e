internal import BotState
internal import Encodings

/// What an order to a bot has changed, for the user.
struct OrderReport {
    /// When the order takes effect.
    let effect: String
    private let options: String

    /// The command that shows the bot.
    var status: String { "changebot status \(options)" }

    init(_ ledger: Ledger, _ state: ExistingState) {
        let isRunning =
            ledger.holder != nil
            || state.bot.map { !RunningBot.all(in: $0.directory, named: $0.name).isEmpty } == true
        effect =
            isRunning
            ? "the running bot takes this up within seconds"
            : "the bot is not running, so this takes effect at its next start"
        options = state.options
    }

    func text(_ rule: String, _ change: PauseChange) -> String {
        switch change {
        case .paused:
            "'\(rule)' is paused: \(effect); to resume it: changebot resume \(rule.shellWord) \(options)"
        case .alreadyPaused: "'\(rule)' is paused already"
        case .resumed: "'\(rule)' is resumed, and makes up for the changes that it missed: \(effect)"
        case .skipped: "'\(rule)' is resumed, without the changes that it missed: \(effect)"
        case .notPaused: "'\(rule)' is not paused"
        case .alreadyResumed: "'\(rule)' is resumed already, and makes up for the changes that it missed"
        }
    }
}
