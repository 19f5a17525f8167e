internal import ArgumentParser

/// The option of `run` and `fix` about what `changebot trace` shows.
struct TraceOptions: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "For how many days to keep what the bot did to each document, for 'changebot trace'. Default: 0, not at all.",
            valueName: "days"), transform: Count.parse)
    var traceDays: Count?

    /// About 100 years.
    private static let maxDays = 36_500

    /// Nil: it is not set.
    ///
    /// - Throws: ``CommandError`` with 64, or with 78 for a number in a file.
    func days(_ environment: Environment) throws(CommandError) -> Int? {
        guard let days = try environment.value(traceDays, "trace-days", parse: Count.init(argument:)) else {
            return nil
        }
        return try environment.checking("trace-days", isFlag: traceDays != nil) { () throws(CommandError) in
            guard days.number <= Self.maxDays else {
                throw CommandError(.usage, "--trace-days must be from 0 to \(Self.maxDays)")
            }
            return days.number
        }
    }
}
