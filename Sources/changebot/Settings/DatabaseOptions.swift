internal import ArgumentParser
internal import GatewayClient

/// The options for many databases with one command.
struct DatabaseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "All databases with these names, in which * and ? match any characters and !NAME excludes. The URL of --gateway then ends in /{database}.",
            valueName: "a*,b"), transform: PatternList.parse)
    var databases: PatternList?

    @Option(
        help: ArgumentHelp(
            "All collections with these names, SCOPE.COLLECTION, of the database that --gateway names (Sync Gateway). Patterns as for --databases.",
            valueName: "a.*,b.c"), transform: PatternList.parse)
    var collections: PatternList?

    /// The databases that the command works on. Nil: one, which the gateway's URL names.
    ///
    /// - Parameter gateway: The gateway of the command.
    /// - Throws: ``CommandError`` with 64 or 78 for patterns that are not valid, or that don't fit the gateway.
    func choice(_ environment: Environment, _ gateway: GatewayChoice) throws(CommandError) -> DatabasePatterns? {
        let databases = try patterns(databases, "databases", .databases, environment)
        let collections = try patterns(collections, "collections", .collections, environment)
        guard databases == nil || collections == nil else {
            throw environment.contradiction(
                ["databases", "collections"],
                "databases and collections are selected: give one of the two; a bot follows either databases of a server, or collections of one database"
            )
        }
        guard let patterns = databases ?? collections else {
            guard gateway.hasPlaceholder else { return nil }
            throw environment.contradiction(
                ["gateway"],
                "the gateway's URL contains {database}, but no databases are selected: "
                    + environment.remedy("databases", "userdb-*", for: "gateway"))
        }
        guard case .remote(let url) = gateway else {
            throw environment.contradiction(
                ["databases", "collections"],
                "an embedded gateway has one database: remove \(databases == nil ? "collections" : "databases")")
        }
        switch patterns.kind {
        case .databases where !gateway.hasPlaceholder:
            throw environment.contradiction(
                ["databases"],
                "databases are selected, but the gateway's URL names one: write \(url.base)/{database}")
        case .collections where gateway.hasPlaceholder || url.keyspace.pathSegment != url.keyspace.database:
            throw environment.contradiction(
                ["collections"],
                "collections are selected: the gateway's URL must name their database alone, such as \(url.base)/"
                    + (gateway.hasPlaceholder ? "todo" : url.keyspace.database))
        default: return patterns
        }
    }

    private func patterns(
        _ flag: PatternList?, _ option: String, _ kind: DatabasePatterns.Kind, _ environment: Environment
    ) throws(CommandError) -> DatabasePatterns? {
        guard let list = try environment.value(flag, option, parse: PatternList.init(argument:)) else { return nil }
        return try environment.checking(option, isFlag: flag != nil) { () throws(CommandError) in
            do throws(DatabasePatternError) { return try DatabasePatterns(list.patterns, of: kind) } catch {
                throw CommandError(.usage, "--\(option): \(error)")
            }
        }
    }
}

/// Patterns separated by commas.
struct PatternList: OptionValue {
    static let expected = "names separated by commas, such as userdb-*,orders"

    let patterns: [String]

    init?(argument: String) {
        patterns = argument.split(separator: ",", omittingEmptySubsequences: false).map { part in
            let text = part.drop { $0 == " " }
            return String(text.reversed().drop { $0 == " " }.reversed())
        }
        guard !patterns.contains("") else { return nil }
    }
}

extension GatewayChoice {
    /// The last segment of the URL for many databases.
    static let placeholder = "{database}"

    /// The gateway of one of many databases, or of a collection of the database.
    ///
    /// - Throws: ``CommandError`` with 64 for a name that can't be part of a URL.
    func naming(database: String) throws(CommandError) -> GatewayChoice {
        guard case .remote(let url) = self else {
            throw CommandError(.usage, "--database: an embedded gateway has one database; remove the option")
        }
        do throws(GatewayURLError) {
            let name = hasPlaceholder ? KeyspaceName.pathSegment(of: database) : "\(url.keyspace.database).\(database)"
            return .remote(url.sibling(try KeyspaceName(name)))
        } catch {
            throw CommandError(.usage, "--database: \(error)")
        }
    }

    /// Whether the URL stands for many databases.
    var hasPlaceholder: Bool {
        if case .remote(let url) = self { url.keyspace.pathSegment == Self.placeholder } else { false }
    }
}
