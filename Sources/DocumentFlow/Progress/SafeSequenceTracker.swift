package import GatewayClient

/// Knows the safe sequence: the highest one below which every change is finished.
///
/// Changes arrive in the order of the feed and finish in any order. Changes that need no work only move the feed's
/// position; each that does is *opened*, and holds the safe sequence back to the change before it until it is finished.
/// Sequences are never compared: order is arrival order.
///
/// Memory is that of the open changes, which the flow's budget bounds, and of finished ones behind the oldest open one:
/// a sequence each.
package struct SafeSequenceTracker: Sendable {
    /// Stands for one opened change.
    package struct Ticket: Hashable, Sendable {
        fileprivate let number: Int
    }

    private struct Entry {
        /// The sequence that is safe as long as this change is the oldest open one.
        let preceding: SequenceID
        var isFinished = false
    }

    private var position: SequenceID
    private var entries: [Entry] = []
    /// The number of `entries[0]`.
    private var firstNumber = 0
    /// Entries before this index are finished.
    private var oldest = 0

    /// `start` is safe until the feed moves on.
    package init(start: SequenceID) { position = start }

    /// Everything up to here is finished. Never moves backwards in the order of arrival.
    package var safeSequence: SequenceID { oldest < entries.count ? entries[oldest].preceding : position }

    /// All changes up to `sequence` that were not opened need no work.
    package mutating func pass(to sequence: SequenceID) { position = sequence }

    /// Opens a ticket for the next change of the feed, which has this sequence and needs work.
    package mutating func open(_ sequence: SequenceID) -> Ticket {
        entries.append(Entry(preceding: position))
        position = sequence
        return Ticket(number: firstNumber + entries.count - 1)
    }

    /// Every effect of this change is settled. Each ticket is used once.
    package mutating func finish(_ ticket: Ticket) {
        let index = ticket.number - firstNumber
        precondition(index >= oldest && !entries[index].isFinished, "a change finishes once")
        entries[index].isFinished = true
        while oldest < entries.count, entries[oldest].isFinished { oldest += 1 }
        // Remove the finished front only now and then: each removal is linear in what remains.
        if oldest > 64, oldest * 2 > entries.count {
            entries.removeFirst(oldest)
            firstNumber += oldest
            oldest = 0
        }
    }
}
