internal import GatewayClient

/// What one simulation depends on: nothing else.
struct SimulationSettings {
    var seed: UInt64
    var dialect: GatewayDialect
    var faults: [FaultKind]
    var breakage: Breakage?
    /// Whether each event is printed.
    var showsStory = false
}
