internal import ArgumentParser
internal import Transfer

/// The options for the format of an input.
struct InputOptions: ParsableArguments {
    @Option(help: "ndjson, json (one array), csv or ejson. Default: by the file's name and first byte.")
    var format: InputFormat?

    @Option(
        help: ArgumentHelp(
            "The separator of the cells of a table: one character such as ';', or tab. Default: a comma, or a tab for .tsv.",
            valueName: "character"))
    var delimiter: String?

    /// - Throws: ``CommandError`` with 64 for an unknown format.
    func format(_ environment: Environment) throws(CommandError) -> InputFormat? {
        try environment.value(format, "format", parse: InputFormat.init(rawValue:))
    }

    /// - Throws: ``CommandError`` with 64 if the delimiter is invalid, or the input is not a table.
    func delimiter(for file: String, _ environment: Environment) throws(CommandError) -> CSVDelimiter {
        let isTable = try (format(environment) ?? InputFormat(fileName: file))?.isTable == true
        // Variables apply to all commands, so this one is ignored for formats other than tables.
        guard let text = delimiter ?? (isTable ? environment["delimiter"] : nil) else { return .usual(in: file) }
        guard let delimiter = CSVDelimiter(text) else {
            throw CommandError(
                .usage,
                "--delimiter '\(text)': write one character other than a letter, digit or quote, such as ';' or tab")
        }
        guard isTable else {
            throw CommandError(.usage, "--delimiter only applies to tables: add --format csv, or remove it")
        }
        return delimiter
    }
}

extension InputFormat: ExpressibleByArgument {}
