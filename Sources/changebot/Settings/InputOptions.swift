internal import ArgumentParser
internal import Transfer

/// The options for the format of an input.
struct InputOptions: ParsableArguments {
    @Option(help: "ndjson, json (one array), csv or ejson. Default: by the file's name and first byte.")
    var format: InputFormat?

    @Option(
        help: ArgumentHelp(
            "The separator of the cells of a table: one character such as ';', or tab. Default: a comma.",
            valueName: "character"))
    var delimiter: String?

    /// - Throws: ``CommandError`` with 64 for an unknown format.
    func format(_ environment: Environment) throws(CommandError) -> InputFormat? {
        try environment.value(format, "format", parse: InputFormat.init(rawValue:))
    }

    /// - Throws: ``CommandError`` with 64 if the delimiter is not valid, or the input is not a table.
    func delimiter(for file: String, _ environment: Environment) throws(CommandError) -> CSVDelimiter {
        let isTable = try (format(environment) ?? InputFormat(fileName: file))?.isTable == true
        // A variable is set for all commands. It is ignored for formats other than tables.
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
