internal import Logging

/// Writes log lines to stderr.
struct StandardErrorLog: LogHandler {
    enum Format: String, CaseIterable {
        case text, json

        static let `default` = Format.text

        /// The format of this process. Determined before the arguments are parsed, because parse errors use it too.
        static let chosen = named(in: Array(CommandLine.arguments.dropFirst()), Environment())

        /// The value of `--log-format`, otherwise of the environment, otherwise text. Invalid values are ignored.
        static func named(in arguments: [String], _ environment: Environment) -> Format {
            var format = environment["log-format"]
            let options = arguments.prefix { $0 != "--" }
            for (option, next) in zip(options, options.dropFirst() + [""]) {
                if option == "--log-format" { format = next }
                if option.hasPrefix("--log-format=") { format = String(option.dropFirst("--log-format=".count)) }
            }
            return format.flatMap(Format.init(rawValue:)) ?? .default
        }
    }

    let format: Format
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let fields = metadata.merging(event.metadata ?? [:]) { _, new in new }
        let line = LogLine(event.level, event.message.description, fields)
        StandardErrorOutput.shared.write(format == .json ? line.json : line.text)
    }
}
