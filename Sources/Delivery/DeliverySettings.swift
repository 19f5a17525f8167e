internal import BotState
package import DocumentFlow
internal import Encodings
internal import GatewayClient
package import HTTPTransport
internal import Logging
internal import ServiceLifecycle

extension Delivery {
    /// How a run delivers, whatever its ``Mode``. All defaults are set here and nowhere else.
    package struct Settings: Sendable {
        package var capacity = Capacity()
        /// The size of requests, and how many times a write is attempted.
        package var limits = RequestLimits()
        package var intervals = Intervals()
        /// How failed requests are retried.
        package var retries = RetryPolicy.Settings()
        package var outside = Outside()
        /// Stops the run when too many documents fail. Nil: never.
        package var errorLimit: ErrorLimit?
        /// How many documents the run may change. Nil: any number.
        package var changeLimit: Int?
        /// For how many days the state keeps what the run did to each document; 0: not at all. Nil: as the last run.
        package var traceDays: Int?
        /// Set for a dry run: receives what would be written, and nothing is written.
        package var preview: Preview?
        /// The programs' `$now`: seconds since 1970.
        package var now: @Sendable () -> Int = { Timestamp.secondsNow }
        /// How writers wait before a retry. Stopping the run ends these waits early.
        package var pauses = Pauses()
        /// The options that the log adds to the commands that it suggests, so that they find the state of this run.
        /// Nil: the state does not outlive the run.
        package var stateOptions: String?

        package init() {}

        /// Observes the run. Nil: no observer. Set it in ``retries``.
        package var observer: (any RunObserver)? { retries.observer }

        package var isDryRun: Bool { preview != nil }

        func observe(_ deadLetters: [DeadLetter]) {
            for deadLetter in deadLetters { observer?.note(.deadLettered(rule: deadLetter.rule)) }
        }
    }

    /// How much a run does at once.
    package struct Capacity: Sendable {
        /// Concurrent `_bulk_docs` requests. A dry run and a run with ``Settings/changeLimit`` have one.
        package var writers = 4
        /// Bytes of documents in the pipeline, for all runs that share the pool: 24 MiB.
        package var memory = MemoryPool(bytes: 24 << 20)
        /// Documents in the pipeline: as many as the writers can send at once. A small document uses more memory than
        /// its bytes.
        package var documents = 1000
    }

    /// The intervals of a run's periodic work.
    package struct Intervals: Sendable {
        /// The shortest time between two checkpoints while the run catches up. A crash repeats at most the work since
        /// the last one.
        package var checkpoint: Duration = .seconds(1)
        /// The same while it waits for changes, so that an idle disk is not woken for each change. Own revisions are
        /// recorded anyway, so after a crash the changes of these seconds are only read and decided again.
        package var followingCheckpoint: Duration = .seconds(5)
        /// The shortest time between two writes of totals while the run waits for changes. Changes in between cause one
        /// write.
        package var totals: Duration = .milliseconds(200)
        /// The same while it catches up.
        package var catchUpTotals: Duration = .seconds(5)
        /// The longest sleep of a task that waits for a time of day, so that it notices a changed system clock.
        package var maxSleep: Duration = .seconds(60)
    }

    /// How a run contacts webhook receivers and attachment servers.
    package struct Outside: Sendable {
        /// How long to wait before a failed server is contacted again.
        package var backoff = Backoff(base: .seconds(1))
        /// Knows which servers are down, for all parts of the run.
        package let receivers = ReceiverOutages()
        /// Carries all requests to servers that are simulated in this process. Nil: they are sent over the network.
        package var carrier: (any HTTPCarrier)?
    }
}
