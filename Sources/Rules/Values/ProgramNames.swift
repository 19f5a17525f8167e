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
}
