internal import ArgumentParser
internal import BotState
internal import Rules

/// The argument of commands about rules of a bot.
struct RuleNames: ParsableArguments {
    @Argument(help: ArgumentHelp("The names of rules.", valueName: "rule"))
    var names: [String]

    /// Each name once, in order.
    var unique: [String] {
        var seen: Set<String> = []
        return names.filter { seen.insert($0).inserted }
    }
}

/// Checks the names of rules in orders to a bot.
struct KnownRules {
    private let known: KnownRuleNames
    private let paused: Set<String>

    /// - Throws: ``CommandError`` with 66 if the state does not list the bot's rules; `StateError`.
    init(_ ledger: Ledger, of state: ExistingState) throws {
        guard let known = try ledger.knownRules() else {
            throw CommandError(
                .missingInput,
                "the state '\(state.name)' does not list the bot's rules yet: start the bot with this version of "
                    + "changebot first")
        }
        self.known = known
        paused = Set(try ledger.pausedRules().map(\.name))
    }

    /// - Throws: ``CommandError`` with 64 if a name is unknown. A rule that was removed from the files after it was paused
    ///   can still be resumed.
    func require(_ wanted: [String], orPaused: Bool = false) throws(CommandError) {
        let names = known.all
        for name in wanted where !names.contains(name) && !(orPaused && paused.contains(name)) {
            throw CommandError(
                .usage,
                "the bot has no rule '\(name)'"
                    + NearestName.advice(
                        NearestName.ofOwn(name, among: names), among: names, as: "rules", isWhole: false))
        }
    }

    /// - Throws: ``CommandError`` with 64 if the rule follows the feed.
    func requireBackfillable(_ rule: String) throws(CommandError) {
        if known.counting.contains(rule) {
            throw CommandError(
                .usage,
                "the rule '\(rule)' counts documents (aggregate), and the bot counts all documents by itself: it needs no "
                    + "backfill")
        }
        guard known.following.contains(rule) else { return }
        throw CommandError(
            .usage,
            "the rule '\(rule)' follows the feed (changed, enter, leave or resolve), so it can't be applied to all "
                + "documents; for conflicts, run 'changebot resolve'")
    }

    /// - Throws: ``CommandError`` with 64 if one of the rules needs every change.
    func requirePausable(_ wanted: [String]) throws(CommandError) {
        guard let rule = wanted.first(where: known.counting.contains) else { return }
        throw CommandError(
            .usage,
            "the rule '\(rule)' counts documents (aggregate) and needs every change, so it can't be paused; remove it "
                + "from the rules instead")
    }
}
