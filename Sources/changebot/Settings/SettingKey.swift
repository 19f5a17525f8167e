internal import AccessTokens
internal import BotState
internal import Bots
internal import Delivery
internal import DocumentFlow
internal import Logging

/// A key of the configuration file. Each is an option of `run`, with `_` instead of `-`. A few keys have no option,
/// because secrets must not appear in argv.
///
/// `assets/configuration.schema.json` has the same keys.
struct SettingKey: Sendable {
    enum Scope { case bot, process }

    enum Kind: Equatable {
        case text
        /// `true` or `false`.
        case flag
        /// One text, or a list of them.
        case list
        /// A path, relative to the file's folder.
        case path
        case paths
        /// A line for the shell, or a list: a program, whose path is relative to the file's folder if it has a `/`, and
        /// its arguments.
        case command
        /// A URL, or `embedded:FILE` with a path.
        case gateway
    }

    /// The name in the file: `retry_for`.
    let name: String
    let scope: Scope
    let kind: Kind
    /// The default value, for `config show`; nil if there is none. Computed from the actual default.
    let fallback: String?

    /// Whether only `run` uses the key: other commands ignore it, even if they have an option with the same name.
    var isRunOnly: Bool {
        [
            "since", "feed", "channels", "on_reset", "max_errors", "catch_up_changed_rules", "summary", "once",
            "dry_run", "role", "partitions",
            "watch", "on_bot_failure", "http", "http_allow_remote", "http_shows_documents",
        ].contains(name)
    }

    /// The name of the option, from which the variable's name is derived: `retry-for`.
    var option: String { name.split(separator: "_").joined(separator: "-") }

    /// The name of the key for an option: `retry_for` for `retry-for`.
    static func name(of option: String) -> String { option.split(separator: "-").joined(separator: "_") }

    private init(_ name: String, _ scope: Scope, _ kind: Kind = .text, fallback: String? = nil) {
        self.name = name
        self.scope = scope
        self.kind = kind
        self.fallback = fallback
    }

    static let all: [SettingKey] = [
        SettingKey("name", .bot, fallback: StateOptions.defaultName),
        SettingKey("gateway", .bot, .gateway),
        SettingKey("databases", .bot, .list),
        SettingKey("collections", .bot, .list),
        SettingKey("rules", .bot, .paths),
        SettingKey("user", .bot),
        SettingKey("password_file", .bot, .path),
        SettingKey("password_credential", .bot),
        SettingKey("token_file", .bot, .path),
        SettingKey("token_credential", .bot),
        SettingKey("token_url", .bot),
        SettingKey("client_id", .bot),
        SettingKey("client_secret_file", .bot, .path),
        SettingKey("client_secret_credential", .bot),
        SettingKey("scope", .bot),
        SettingKey("audience", .bot),
        SettingKey("client_auth", .bot, fallback: TokenMethod.ClientCredentials.Form.basic.rawValue),
        SettingKey("api_key_file", .bot, .path),
        SettingKey("api_key_credential", .bot),
        SettingKey("token_command", .bot, .command),
        SettingKey("token_ca_file", .bot, .path),
        SettingKey("auth", .bot, fallback: AuthenticationForm.default.rawValue),
        SettingKey("ca_file", .bot, .path),
        SettingKey("certificate_file", .bot, .path),
        SettingKey("key_file", .bot, .path),
        SettingKey("insecure", .bot, .flag, fallback: "false"),
        SettingKey("keep_expiry", .bot, .flag, fallback: "false"),
        SettingKey("dialect", .bot),
        // The default is known only when the run starts: the copy of the checkpoint, if there is one.
        SettingKey("since", .bot),
        SettingKey("feed", .bot, fallback: BotSettings().feed.following.rawValue),
        SettingKey("channels", .bot, .list),
        // The default depends on the rules.
        SettingKey("on_reset", .bot),
        SettingKey("retry_for", .bot, fallback: "\(TimeSpan(RetryPolicy.Settings().retryFor))"),
        SettingKey("max_errors", .bot),
        SettingKey("catch_up_changed_rules", .bot, .flag, fallback: "false"),
        SettingKey("trace_days", .bot, fallback: "0"),
        SettingKey("summary", .bot, .path),
        SettingKey("engine", .bot),
        SettingKey("fleet", .bot),
        SettingKey("lease", .bot, fallback: "\(TimeSpan(Engine.defaultLease))"),
        SettingKey("allow_unsafe_engine", .bot, .flag, fallback: "false"),
        SettingKey("role", .bot),
        SettingKey("partitions", .bot, fallback: "\(Sharing.defaultPartitions)"),
        SettingKey("engine_user", .bot),
        SettingKey("engine_password_file", .bot, .path),
        SettingKey("state", .process, .path),
        SettingKey("once", .process, .flag, fallback: "false"),
        SettingKey("dry_run", .process, .flag, fallback: "false"),
        SettingKey("watch", .process, .flag, fallback: "false"),
        SettingKey("on_bot_failure", .process, fallback: BotFailurePolicy.default.rawValue),
        SettingKey(
            "memory_budget", .process,
            fallback: "\(ByteSize(bytes: Delivery.Settings().capacity.memory.limit))"),
        SettingKey("shutdown_grace", .process, fallback: "\(TimeSpan(StoppableService.defaultGrace))"),
        SettingKey("http", .process),
        SettingKey("http_allow_remote", .process, .flag, fallback: "false"),
        SettingKey("http_shows_documents", .process, .flag, fallback: "false"),
        SettingKey("log_format", .process, fallback: StandardErrorLog.Format.default.rawValue),
        SettingKey("log_level", .process, fallback: LogOptions.defaultLevel.rawValue),
        SettingKey("quiet", .process, .flag, fallback: "false"),
        SettingKey("color", .process, fallback: TerminalStyle.Choice.default.rawValue),
    ]

    static func named(_ name: String) -> SettingKey? { all.first { $0.name == name } }
}
