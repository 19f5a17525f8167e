/// The names of jq's functions, to recognise programs.
enum ProgramNames {
    static let functions: Set = [
        "abs", "add", "add_days", "add_months", "add_years", "all", "any", "ascii_downcase", "ascii_upcase", "capture",
        "ceil", "combinations", "contains", "del", "delpaths", "empty", "endswith", "error", "explode", "first",
        "flatten", "floor", "from_entries", "fromdate", "fromjson", "getpath", "group_by", "gsub", "has", "implode",
        "in", "index", "indices", "inside", "isempty", "join", "keys", "keys_unsorted", "last", "length", "limit",
        "ltrimstr", "map", "map_values", "match", "max", "max_by", "min", "min_by", "not", "nth", "numbers",
        "objects", "parse_time", "paths", "pow", "range", "recurse", "reverse", "rindex", "round", "rtrimstr", "scan",
        "select", "setpath", "sort", "sort_by", "split", "splits", "sqrt", "startswith", "strftime", "strings",
        "strptime", "sub", "test", "to_entries", "todate", "tojson", "tonumber", "tostring", "transpose", "type",
        "unique", "unique_by", "until", "utf8bytelength", "values", "walk", "while", "with_entries",
    ]

    /// The functions of jq for what other languages call differently.
    private static let synonyms = [
        "len": "length", "size": "length", "count": "length", "lower": "ascii_downcase", "upper": "ascii_upcase",
        "lowercase": "ascii_downcase", "uppercase": "ascii_upcase", "downcase": "ascii_downcase",
        "upcase": "ascii_upcase", "toLowerCase": "ascii_downcase", "toUpperCase": "ascii_upcase", "sum": "add",
        "str": "tostring", "toString": "tostring", "int": "tonumber", "float": "tonumber", "number": "tonumber",
        "parseInt": "tonumber", "date": "todate", "today": "$now | todate", "concat": "add", "filter": "map(select(…))",
        "includes": "contains", "find": "first(.[] | select(…))", "trim": "gsub(\"^\\\\s+|\\\\s+$\"; \"\")",
        "replace": "gsub(…; …)", "substring": ".[0:3]", "slice": ".[0:3]",
    ]

    /// What to write for a function that jq does not have. Nil if nothing similar is known.
    ///
    /// - Parameter name: With the number of arguments: `add_weeks/1`.
    static func remedy(ofUndefined name: String) -> String? {
        let word = String(name.prefix { $0 != "/" })
        if ["doc", "document", "this", "self", "it"].contains(word) { return "write . for the document" }
        if ["add_weeks", "addWeeks"].contains(word) { return "write add_days, with seven days for a week" }
        if ["add_hours", "add_minutes", "add_seconds"].contains(word) {
            return "write fromdate + seconds | todate"
        }
        if let other = synonyms[word] { return "did you mean \(other)?" }
        // A short name is more likely that of a member.
        guard word.utf8.count > 3 else { return nil }
        if functions.contains(word) { return nil }
        return NearestName.of(word, among: functions.sorted()).map { "did you mean \($0)?" }
    }
}
