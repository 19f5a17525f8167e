internal import BotState
package import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Logging
internal import ServiceLifecycle

extension Delivery {
    /// How a run delivers, whatever its ``Mode``. All defaults are set here and nowhere else.
    package struct Settings: Sendable {
        package var capacity = Capacity()
        /// The size of requests, and how often a write is tried.
        package var limits = RequestLimits()
        package var intervals = Intervals()
        /// How failed requests are retried.
        package var retries = RetryPolicy.Settings()
        package var outside = Outside()
        /// Stops the run when too many documents fail. Nil: never.
        package var errorLimit: ErrorLimit?
        /// How many documents the run may change. Nil: any number.
        package var changeLimit: Int?
        /// Set for a dry run: nothing is written; what would be is passed to it.
        package var preview: Preview?
        /// The programs' `$now`: seconds since 1970.
        package var now: @Sendable () -> Int = { Timestamp.secondsNow }
        /// How writers wait before a retry; a run that can be stopped ends these waits early.
        package var pauses = Pauses()
        /// The options by which the commands that the log advises find the state of this run.
        /// Nil: none can, because the state is gone with the run.
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
        /// Bytes of documents in the pipeline, of all runs that have the same pool: 24 MiB.
        package var memory = MemoryPool(bytes: 24 << 20)
        /// Documents in the pipeline: as many as the writers can send. A small document costs more memory than its
        /// bytes.
        package var documents = 1000
    }

    /// How often a run does what it need not do at once.
    package struct Intervals: Sendable {
        /// The shortest time between two checkpoints while the run catches up. A crash repeats at most the work since
        /// the last one.
        package var checkpoint: Duration = .seconds(1)
        /// The same while it waits for changes: an idle disk is not woken for each. What the run wrote is known without a
        /// checkpoint, so a crash only reads and decides the changes of these seconds again.
        package var followingCheckpoint: Duration = .seconds(5)
        /// The shortest time between two writes of totals while the run waits for changes: those that come meanwhile are
        /// one write.
        package var totals: Duration = .milliseconds(200)
        /// The same while it catches up.
        package var catchUpTotals: Duration = .seconds(5)
        /// The longest sleep of a task that waits for a time, so that a changed system clock is noticed.
        package var longestSleep: Duration = .seconds(60)
    }

    /// How a run speaks to receivers of webhooks, and to servers of attachments.
    package struct Outside: Sendable {
        /// How long to wait before one that failed is tried again.
        package var backoff = Backoff(base: .seconds(1))
        /// Knows which of them are down, for all parts of the run.
        package let receivers = ReceiverOutages()
    }
}
