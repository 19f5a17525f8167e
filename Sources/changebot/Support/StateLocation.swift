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
    ///   - engine: Where the state is instead of in the folder; nil: there.
    ///   - reference: How other commands find the state.
    init(
        choice: GatewayChoice, directory: String, _ name: String, engine: Engine? = nil,
        reference: StateReference = .none
    ) {
        self.reference = reference
        address = choice.stateAddress
        // A gateway in memory is gone after the run, so its state must be too.
        isTemporary = choice == .embedded(file: nil)
        let directory =
            isTemporary ? FileManager.default.temporaryDirectory.path + "/changebot-\(UUID().uuidString)" : directory
        catalogue = StateCatalogue(
            directory: directory, name: name, engine: isTemporary ? nil : engine?.with(fleet: name))
    }

    /// The same for a bot of another name.
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

    /// The options with which other commands find this state.
    var options: String {
        catalogue.hasSeveral ? reference.options(catalogue, address: address) : reference.options(catalogue)
    }

    /// As ``options``, for later commands: by then the bot may have several states. Nil if the state is temporary.
    var lastingOptions: String? { isTemporary ? nil : reference.options(catalogue, address: address) }

    func discardIfTemporary() {
        if isTemporary { try? FileManager.default.removeItem(atPath: catalogue.directory) }
    }
}

extension GatewayChoice {
    /// The URL; for an embedded gateway its file, because its port changes.
    var stateAddress: String {
        switch self {
        case .remote(let url): url.description
        case .embedded(let file?): "embedded:\(URL(fileURLWithPath: file).standardizedFileURL.path)"
        case .embedded(nil): "embedded:"
        }
    }
}
