internal import Locking

/// Errors that a simulation puts into the delivery, to show that its checks find them. Each has the effect of one that
/// the delivery once had, or could have.
///
/// In debug builds only, and only in a process that sets ``active``.
package enum InjectedFault: String, CaseIterable, Sendable {
    /// The other documents of a decision are not written, and the changed document is.
    case skippedPut = "skipped-put"
    /// Dead letters are not recorded.
    case vanishedDeadLetter = "vanished-dead-letter"
    /// A change that waits for an earlier one of its document is dropped.
    case droppedChange = "dropped-change"
    /// A change is finished when it is read.
    case passingCheckpoint = "passing-checkpoint"
    /// Room in the memory budget is not returned.
    case leakedMemory = "leaked-memory"

    #if DEBUG
        private static let current = Locked<InjectedFault?>(nil)

        /// Nil: none.
        package static var active: InjectedFault? {
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
