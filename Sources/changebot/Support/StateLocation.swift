internal import BotState
internal import Bots
internal import Encodings
internal import FoundationEssentials
internal import GatewayClient
internal import Transfer

/// Where a run keeps its state, and the address of its database.
struct StateLocation {
    private(set) var catalogue: StateCatalogue
    let address: String
    let isTemporary: Bool
    let reference: StateReference

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
        other.catalogue = StateCatalogue(
            directory: catalogue.directory, name: name, engine: catalogue.engine?.with(fleet: name))
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
        catalogue.hasSeveral ? reference.options(catalogue, address: address) : reference.options(catalogue)
    }

    /// Like ``options``, but also valid later, when the bot may have several states. Nil if the state is temporary.
    var lastingOptions: String? { isTemporary ? nil : reference.options(catalogue, address: address) }

    func discardIfTemporary() {
        if isTemporary { try? FileManager.default.removeItem(atPath: catalogue.directory) }
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
