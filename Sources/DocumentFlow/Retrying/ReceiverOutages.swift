internal import Locking

/// The webhook receivers and attachment servers that are down. Shared by all parts of a run, including its passes.
package final class ReceiverOutages: Sendable {
    /// A server outside the database.
    package struct Receiver: Hashable, Sendable {
        /// The raw values are stable, because programs read them.
        package enum Kind: String, Sendable { case webhooks, downloads }

        package let kind: Kind
        /// Scheme, host and port. Path and query are omitted because they may contain secrets.
        package let origin: String

        /// - Parameter origin: Without a path.
        package init(_ kind: Kind, _ origin: String) { (self.kind, self.origin) = (kind, origin) }
    }

    /// The outage in progress.
    package struct Status: Sendable, Equatable {
        package let began: ContinuousClock.Instant
        /// The last error, for users, without path and query.
        package let reason: String
        /// The time of the next attempt.
        package let nextAttempt: ContinuousClock.Instant
        /// The number of documents, or contents, that had to wait for the server.
        package let waiting: Int

        /// Checks nothing.
        package init(
            began: ContinuousClock.Instant, reason: String, nextAttempt: ContinuousClock.Instant, waiting: Int
        ) {
            (self.began, self.reason, self.nextAttempt, self.waiting) = (began, reason, nextAttempt, waiting)
        }
    }

    /// Reports the outages of one part of a run.
    package struct Reporter: Sendable {
        fileprivate let outages: ReceiverOutages
        fileprivate let number: Int
        fileprivate let observer: (any RunObserver)?

        /// - Parameter status: Nil if the receiver is up.
        package func note(_ receiver: Receiver, _ status: Status?) {
            let key = Key(receiver: receiver, reporter: number)
            let hasChanged = outages.entries.withLock { entries in
                defer { entries[key] = status }
                return (entries[key] == nil) != (status == nil)
            }
            if hasChanged { observer?.note(.progressed) }
        }

        /// Removes the reports of a part that has ended.
        package func end() {
            outages.entries.withLock { entries in entries = entries.filter { $0.key.reporter != number } }
        }
    }

    private struct Key: Hashable {
        let receiver: Receiver
        let reporter: Int
    }

    private let entries = Locked<[Key: Status]>([:])
    private let reporters = Locked(0)

    /// No outages.
    package init() {}

    /// - Parameter observer: Notified when an outage begins or ends. Nil: none.
    package func makeReporter(_ observer: (any RunObserver)?) -> Reporter {
        let number = reporters.withLock { count in
            count += 1
            return count
        }
        return Reporter(outages: self, number: number, observer: observer)
    }

    /// The receivers that are down, by kind and origin. Combines the reports of all parts of the run.
    package var status: [(receiver: Receiver, status: Status)] {
        let entries = entries.withLock { $0 }
        return Dictionary(grouping: entries, by: \.key.receiver).compactMap { receiver, parts in
            let statuses = parts.map(\.value)
            guard let newest = statuses.max(by: { $0.nextAttempt < $1.nextAttempt }) else { return nil }
            return (
                receiver,
                Status(
                    began: statuses.map(\.began).min() ?? newest.began, reason: newest.reason,
                    nextAttempt: newest.nextAttempt, waiting: statuses.reduce(0) { $0 + $1.waiting })
            )
        }.sorted {
            ($0.receiver.kind.rawValue, $0.receiver.origin) < ($1.receiver.kind.rawValue, $1.receiver.origin)
        }
    }
}
