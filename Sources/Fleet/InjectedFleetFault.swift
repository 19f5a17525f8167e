internal import Locking

/// Errors that a simulation puts into the code of fleets, to show that its checks find them.
///
/// In debug builds only, and only in a process that sets ``active``.
package enum InjectedFleetFault: String, CaseIterable, Sendable {
    /// A member acts although its leases were not renewed.
    case ignoredLease = "ignored-lease"
    /// The position of a partition passes changes that are not done.
    case passingPosition = "passing-position"
    /// A partition is given up while its changes are under way.
    case earlyRelease = "early-release"
    /// Members never take the partition with the number 0.
    case unclaimedPartition = "unclaimed-partition"

    #if DEBUG
        private static let current = Locked<InjectedFleetFault?>(nil)

        /// Nil: none.
        package static var active: InjectedFleetFault? {
            get { current.withLock(\.self) }
            set { current.withLock { $0 = newValue } }
        }
    #endif

    var isActive: Bool {
        #if DEBUG
            Self.active == self
        #else
            false
        #endif
    }
}
