/// The functions that every program has in addition to jq's own, on one line.
///
/// libjq can't call functions of its host. But a program can send a value with `debug` and receive one with `input`, so
/// the functions here use these to call ``ProgramFunctions``. Programs themselves can use neither.
enum ProgramPrelude {
    /// Declarations of the additional functions, for programs that are compiled without ``definitions``.
    static let declarations =
        "def parse_time: .; " + ["days", "months", "years"].map { "def add_\($0)($n): .; " }.joined()

    /// The beginnings of jq's messages that an additional function is undefined.
    static let names = ["parse_time/0 ", "add_days/1 ", "add_months/1 ", "add_years/1 "]

    static let definitions = hostCalls + numbers + texts + times

    /// Disables the functions that write to a terminal. Comes after ``definitions``, which use jq's own `debug`.
    static let silenced = "def debug: .; def debug($_): .; def stderr: .; "

    private static let hostCalls =
        "def __ask($name): [$name, .] | debug | input; def __ask($name; $other): [$name, ., $other] | debug | input; "
        // jq 1.6 fails on `error(null)`.
        + "def __error($m): error($m); def error($m): __error(if $m == null then \"null\" else $m end); def error: error(.); "

    private static let inexact = "a string with more digits than jq can hold exactly can't be converted to a number"

    /// jq may round a number that it reads from a text, and it accepts `nan`.
    private static let numbers =
        "def __tonumber: tonumber; def tonumber: if type == \"string\" then if length > 15 then error(\"\(inexact)\") "
        + "else . as $text | __tonumber | if isnan or isinfinite then error(\"the text '\" + $text + \"' is not a finite number\") "
        + "else . end end else __tonumber end; "
        + "def __fromjson: fromjson; def fromjson: if type == \"string\" and test(\"[0-9.]{16}\") then error(\"\(inexact)\") "
        + "else __fromjson | __ask(\"finite\") end; "

    /// jq writes NaN as null, and infinity as the largest number. `format` also implements `"\(.a)"`. The last
    /// functions are jq's own ones that write numbers.
    private static let texts =
        "def tojson: __ask(\"tojson\"); def tostring: if type == \"string\" then . else tojson end; "
        + "def __format($f): format($f); "
        + "def format($f): if type == \"string\" then . else __ask(\"finite\") end | __format($f); "
        + "def join($x): reduce .[] as $i (null; (if .==null then \"\" else .+$x end) + "
        + "($i | if type==\"boolean\" or type==\"number\" then tostring else .//\"\" end)) // \"\"; "
        + "def INDEX(stream; idx_expr): reduce stream as $row ({}; "
        + ".[$row|idx_expr|if type != \"string\" then tojson else . end] |= $row); "
        + "def INDEX(idx_expr): INDEX(.[]; idx_expr); "

    private static let times: String = {
        let checked = ["strftime($f)", "strflocaltime($f)", "gmtime", "localtime", "mktime"].map { head in
            let name = head.prefix { $0 != "(" }
            return "def __\(head): \(head); def \(head): __ask(\"\(name)\") | __\(head); "
        }
        let moving = ["days", "months", "years"].map { "def add_\($0)($n): __ask(\"add_\($0)\"; $n); " }
        return checked.joined() + moving.joined() + "def strptime($f): __ask(\"strptime\"; $f); "
            + "def parse_time: __ask(\"parse_time\"); "
            + "def fromdateiso8601: __ask(\"fromdate\"); def fromdate: fromdateiso8601; "
            + "def todateiso8601: if type == \"array\" then strftime(\"%Y-%m-%dT%H:%M:%SZ\") "
            + "else __ask(\"todate\") end; def todate: todateiso8601; "
    }()
}
