internal import JQ

/// Finds the token that jq did not expect: jq reports only the line.
///
/// The program up to that token is merely incomplete, so the search compiles its beginnings.
enum SyntaxErrorSearch {
    /// The index of the token. Nil if jq reports another error, or an unexpected end of the program. Blocks for about
    /// 30 ms for each of a few attempts.
    static func unexpectedToken(_ error: JQCompileError, _ tokens: ProgramTokens, variables: [String]) -> Int? {
        guard isUnexpected(error), !tokens.ranges.isEmpty else { return nil }
        var (low, high) = (0, tokens.ranges.count - 1)
        while low < high {
            let middle = (low + high) / 2
            guard let results = try? JQCompiler.check([tokens.prefix(through: middle)], variables: variables) else {
                return nil
            }
            if results.contains(where: { $0.map(isUnexpected) == true }) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    private static func isUnexpected(_ error: JQCompileError) -> Bool {
        error.message.hasPrefix("syntax error, unexpected") && !error.message.contains("unexpected $end")
    }
}
