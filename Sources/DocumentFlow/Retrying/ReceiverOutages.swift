internal import Locking

/// The receivers of webhooks and servers of attachments that are down, for whoever asks. One object for all parts of a
/// run, its passes included.
package final class ReceiverOutages: Sendable {
    /// Who is asked for something outside the database.
    package struct Receiver: Hashable, Sendable {
        /// The raw values are stable, because programs read them.
        package enum Kind: String, Sendable { case webhooks, downloads }

        package let kind: Kind
        /// Scheme, host and port. No path and no query: they may hold secrets.
        package let origin: String

        /// - Parameter origin: Without a path.
        package init(_ kind: Kind, _ origin: String) { (self.kind, self.origin) = (kind, origin) }
    }

    /// An outage that lasts.
    package struct Status: Sendable, Equatable {
        package let began: ContinuousClock.Instant
        /// The last error, for people; without path and query.
        package let reason: String
        /// When the next request is sent.
        package let nextAttempt: ContinuousClock.Instant
        /// How many documents, or contents, have had to wait for it.
        package let waiting: Int

        /// Checks nothing.
        package init(
            began: ContinuousClock.Instant, reason: String, nextAttempt: ContinuousClock.Instant, waiting: Int
        ) {
            (self.began, self.reason, self.nextAttempt, self.waiting) = (began, reason, nextAttempt, waiting)
        }
    }

    /// Reports for one part of a run.
    package struct Reporter: Sendable {
        fileprivate let outages: ReceiverOutages
        fileprivate let number: Int
        fileprivate let observer: (any RunObserver)?

        /// - Parameter status: Nil: the receiver is up.
        package func note(_ receiver: Receiver, _ status: Status?) {
            let key = Key(receiver: receiver, reporter: number)
            let isNews = outages.entries.withLock { entries in
                defer { entries[key] = status }
                return (entries[key] == nil) != (status == nil)
            }
            if isNews { observer?.note(.progressed) }
        }

        /// The part has ended, so it knows nothing any more.
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

    /// Nobody is down.
    package init() {}

    /// - Parameter observer: Told when an outage begins or ends. Nil: nobody.
    package func makeReporter(_ observer: (any RunObserver)?) -> Reporter {
        let number = reporters.withLock { count in
            count += 1
            return count
        }
        return Reporter(outages: self, number: number, observer: observer)
    }

    /// The receivers that are down, by kind and origin. What several parts of the run know of one is put together.
    package var status: [(receiver: Receiver, status: Status)] {
        let entries = entries.withLock { $0 }
        return Dictionary(grouping: entries, by: \.key.receiver).compactMap { receiver, parts in
            let standings = parts.map(\.value)
            guard let newest = standings.max(by: { $0.nextAttempt < $1.nextAttempt }) else { return nil }
            return (
                receiver,
                Status(
                    began: standings.map(\.began).min() ?? newest.began, reason: newest.reason,
                    nextAttempt: newest.nextAttempt, waiting: standings.reduce(0) { $0 + $1.waiting })
            )
        }.sorted {
            ($0.receiver.kind.rawValue, $0.receiver.origin) < ($1.receiver.kind.rawValue, $1.receiver.origin)
        }
    }
}
