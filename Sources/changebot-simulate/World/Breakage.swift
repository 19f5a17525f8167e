/// An error that is put into a simulation on purpose, to show that the simulation finds it.
enum Breakage: String, CaseIterable {
    /// The gateway acknowledges writes of documents that rules put, and does not store them.
    case lostPut = "lost-put"
    /// The gateway acknowledges one of 50 writes of the bot, and does not store it.
    case lostWrite = "lost-write"

    func breakGateway(_ gateway: SimulatedGateway) {
        switch self {
        case .lostPut: gateway.losesWrite = { id, author in author != .user && Scenario.putBody(id) != nil }
        case .lostWrite:
            var count = 0
            gateway.losesWrite = { _, author in
                guard author != .user else { return false }
                count += 1
                return count.isMultiple(of: 50)
            }
        }
    }
}
