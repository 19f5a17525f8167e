internal import ArgumentParser
internal import Transfer

/// How the documents of an input are written down.
struct InputOptions: ParsableArguments {
    @Option(help: "ndjson, json (one array), csv or ejson. Default: found out from the file's name and first byte.")
    var format: InputFormat?

    @Option(
        help: ArgumentHelp(
            "What separates the cells of a table: one character such as ';', or tab. Default: a comma.",
            valueName: "character"))
    var delimiter: String?

    /// - Throws: ``CommandError`` with 64.
    func format(_ environment: Environment) throws(CommandError) -> InputFormat? {
        try environment.value(format, "format", parse: InputFormat.init(rawValue:))
    }

    /// - Throws: ``CommandError`` with 64, also if the input is no table.
    func delimiter(for file: String, _ environment: Environment) throws(CommandError) -> CSVDelimiter {
        let isTable = try (format(environment) ?? InputFormat(fileName: file))?.isTable == true
        // A variable is set for all commands: it does not count where there is no table.
        guard let text = delimiter ?? (isTable ? environment["delimiter"] : nil) else { return .comma }
        guard let delimiter = CSVDelimiter(text) else {
            throw CommandError(
                .usage,
                "--delimiter '\(text)': write one character that is no letter, digit or quote, such as ';' or tab")
        }
        guard isTable else {
            throw CommandError(.usage, "--delimiter is for tables: add --format csv, or leave it out")
        }
        return delimiter
    }
}

extension InputFormat: ExpressibleByArgument {}
