internal import BotState
internal import Encodings
internal import FoundationEssentials

/// The options with which other commands select the same state and rules from any folder. Used for commands that logs
/// and pages suggest.
struct StateReference: Sendable {
    /// `--config FILE`, and `--bot NAME` if the file has several bots; nil without a file.
    private let configuration: String?
    /// The values in the configuration file; nil for those from options or variables.
    private let folder: String?
    private let name: String?
    private let knowsGateway: Bool
    let knowsRules: Bool

    /// For a command without a configuration file.
    static let none = StateReference()

    private init() {
        (configuration, folder, name) = (nil, nil, nil)
        (knowsGateway, knowsRules) = (false, false)
    }

    /// - Parameter flags: The options given on the command line, which override the file.
    init(_ environment: Environment, flags: Set<String>) {
        func isInFile(_ option: String) -> Bool {
            guard !flags.contains(option), case .file = environment.source(of: option) else { return false }
            return true
        }
        configuration = environment.configurationOptions
        folder = isInFile("state") ? environment["state"] : nil
        let isNamed = isInFile("name")
        name =
            isNamed || configuration != nil && !flags.contains("name") && environment["name"] == nil
            ? environment["name"] ?? StateOptions.defaultName : nil
        knowsGateway = isInFile("gateway")
        knowsRules = isInFile("rules")
    }

    /// The options that select the states of a bot.
    func options(_ catalogue: StateCatalogue) -> String {
        if let engine = catalogue.engine { return engine.options }
        let folder = catalogue.directory
        guard let configuration else {
            return "--state \(folder.absolutePath.shellWord) --name \(catalogue.name.shellWord)"
        }
        var words = [configuration]
        if folder != self.folder { words.append("--state \(folder.absolutePath.shellWord)") }
        if catalogue.name != name { words.append("--name \(catalogue.name.shellWord)") }
        return words.joined(separator: " ")
    }

    /// The options that select the state of one database.
    func options(_ catalogue: StateCatalogue, address: String) -> String {
        knowsGateway ? options(catalogue) : "\(options(catalogue)) --gateway \(address.shellWord)"
    }
}

extension String {
    /// The absolute path.
    var absolutePath: String { URL(fileURLWithPath: self).standardizedFileURL.path }
}

extension Environment {
    /// The options that select the configuration file and the bot in it; nil without a file.
    var configurationOptions: String? {
        guard let path = configurationPath else { return nil }
        let bot = configuredBot.map { " --bot \($0.shellWord)" } ?? ""
        return "--config \(path.absolutePath.shellWord)\(bot)"
    }
}
