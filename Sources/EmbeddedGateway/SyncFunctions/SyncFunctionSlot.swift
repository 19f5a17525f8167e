internal import NIOConcurrencyHelpers
internal import SyncFunctions

/// The sync function of a collection. It may be replaced at any time; documents keep their channels.
final class SyncFunctionSlot: Sendable {
    /// For functions that are set later.
    var limits: SyncFunction.Limits {
        get { settings.withLockedValue { $0 } }
        set { settings.withLockedValue { $0 = newValue } }
    }

    private let settings = NIOLockedValueBox(SyncFunction.Limits())
    private let function = NIOLockedValueBox<SyncFunction?>(nil)

    var current: SyncFunction? { function.withLockedValue { $0 } }

    func set(_ new: SyncFunction?) { function.withLockedValue { $0 = new } }
}
