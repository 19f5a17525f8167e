internal import BotState
internal import Bots
internal import Encodings
internal import FoundationEssentials
internal import GatewayClient
internal import Transfer

/// Where a run keeps its state, and the address of its database.
struct StateLocation {
    private(set) var catalogue: StateCatalogue
    private(set) var address: String
    let isTemporary: Bool
    let reference: StateReference
    /// Set for a bot that follows many databases.
    private var selection: Selection?

    /// What selects the state of one of many databases.
    private struct Selection {
        /// The states of the bot.
        let bot: StateCatalogue
        /// Nil: any database.
        let database: String?

        var options: String { " --database \(database?.shellWord ?? "NAME")" }
    }

    /// - Parameters:
    ///   - engine: Holds the state instead of the folder; nil: the state is in the folder.
    ///   - reference: How other commands select the state.
    init(
        choice: GatewayChoice, directory: String, _ name: String, engine: Engine? = nil,
        reference: StateReference = .none
    ) {
        self.reference = reference
        address = choice.stateAddress
        // A gateway in memory disappears after the run, so its state must too.
        isTemporary = choice == .embedded(file: nil)
        let directory =
            isTemporary ? FileManager.default.temporaryDirectory.path + "/changebot-\(UUID().uuidString)" : directory
        catalogue = StateCatalogue(
            directory: directory, name: name, engine: isTemporary ? nil : engine?.with(fleet: name))
    }

    /// The location for a bot with another name.
    func named(_ name: String) -> StateLocation {
        var other = self
        if let selection {
            other.selection = Selection(
                bot: StateCatalogue(directory: selection.bot.directory, name: name, engine: selection.bot.engine),
                database: selection.database)
        }
        other.catalogue = StateCatalogue(
            directory: catalogue.directory, name: name, engine: catalogue.engine?.with(fleet: name))
        return other
    }

    /// The location of the state of passes over all documents.
    var ofPasses: StateLocation { named("fix-" + catalogue.name) }

    /// The location for one of many databases.
    ///
    /// - Parameter address: Nil: this address with the name in it.
    func of(database: String, address: String? = nil) -> StateLocation {
        var other = self
        other.selection = Selection(bot: selection?.bot ?? catalogue, database: database)
        other.address = address ?? self.address.replacing(GatewayChoice.placeholder, with: database)
        other.catalogue = catalogue.of(database: database)
        return other
    }

    /// The location of a bot that follows many databases.
    var ofManyDatabases: StateLocation {
        var other = self
        other.selection = Selection(bot: catalogue, database: nil)
        return other
    }

    /// - Throws: ``CommandError`` with 73 or 78 if the run needs a state and can't have one here.
    func statePlace(
        ruleSetHash: String, for purpose: StateCatalogue.Purpose
    ) throws(CommandError) -> StatePlace {
        if purpose == .run {
            do throws(StateError) { try catalogue.check() } catch { throw CommandError(error) }
        }
        return StatePlace(catalogue, address: address, ruleSetHash: ruleSetHash, purpose: purpose)
    }

    /// The command-line options that select this state.
    var options: String {
        if let selection { return reference.options(selection.bot) + selection.options }
        return catalogue.hasSeveral ? reference.options(catalogue, address: address) : reference.options(catalogue)
    }

    /// Like ``options``, but also valid later, when the bot may have several states. Nil if the state is temporary.
    var lastingOptions: String? {
        guard selection == nil else { return options }
        return isTemporary ? nil : reference.options(catalogue, address: address)
    }

    func discardIfTemporary() {
        if isTemporary { try? FileManager.default.removeItem(atPath: catalogue.directory) }
    }
}

extension StateCatalogue {
    /// The states of one of many databases. Passes over all documents keep theirs in the same folder.
    func of(database: String) -> StateCatalogue {
        let prefix = "fix-"
        let bot = name.hasPrefix(prefix) ? String(name.dropFirst(prefix.count)) : name
        return StateCatalogue(
            directory: DatabaseIndex.folder(in: directory, named: bot, of: database), name: name,
            engine: engine?.with(database: database))
    }
}

extension GatewayChoice {
    /// The URL. For an embedded gateway the file, because its port changes.
    var stateAddress: String {
        switch self {
        case .remote(let url): url.description
        case .embedded(let file?): "embedded:\(URL(fileURLWithPath: file).standardizedFileURL.path)"
        case .embedded(nil): "embedded:"
        }
    }
}
