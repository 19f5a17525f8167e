internal import ArgumentParser
internal import BotState
internal import DocumentFlow
internal import Encodings

/// Selects dead letters by rule, reason and age instead of by number.
struct DeadLetterFilterOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only dead letters of the rule with this name; '-' for dead letters without a rule.", valueName: "name")
    )
    var rule: String?

    @Option(help: ArgumentHelp("Only dead letters whose reason contains this text.", valueName: "text"))
    var reason: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Only dead letters since this time: 2026-11-20T10:00:00Z, or 2h for two hours ago.",
            valueName: "time"), transform: SinceArgument.parse)
    var since: SinceArgument?

    var filter: DeadLetterFilter {
        DeadLetterFilter(
            rule: rule.map { $0 == "-" ? .none : .named($0) }, reason: reason, since: since?.seconds)
    }
}

/// A point in time on the command line, written as a date or as an age.
struct SinceArgument: OptionValue {
    static let expected = "a time such as 2026-11-20T10:00:00Z, or how long ago, such as 2h"

    /// Seconds since 1970.
    let seconds: Int

    init?(argument: String) {
        if let span = TimeSpan(argument: argument) {
            seconds = Timestamp.secondsNow - Int(span.duration.components.seconds)
            return
        }
        guard let point = PointInTimeArgument(argument: argument) else { return nil }
        seconds = point.seconds
    }
}
