internal import Locking

/// Counts events on one side of a test, so that the other side can wait for the n-th one instead of sleeping.
package final class EventCounter: Sendable {
    private let events = Monitor(0)

    /// Starts at 0.
    package init() {}

    /// The number of events so far.
    package var count: Int { events.quietly { $0 } }

    /// Counts one event and wakes the waiters whose goal it reaches.
    package func increment() { events.with { $0 += 1 } }

    /// Waits until there have been `goal` events since the start. Returns early if the task is cancelled.
    package func wait(for goal: Int) async { await events.wait { $0 >= goal } }

    /// ``wait(for:)`` for a thread that may block.
    package func block(until goal: Int) { events.block { $0 >= goal } }
}
