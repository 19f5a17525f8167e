package import DocumentFlow
internal import Encodings
internal import GatewayClient

extension Delivery {
    /// How a run delivers. All defaults are set here and nowhere else.
    package struct Settings: Sendable {
        /// Concurrent `_bulk_docs` requests. A dry run and a run with ``changeLimit`` have one.
        package var writers = 4
        /// Bytes of documents in the pipeline, of all runs that have the same pool: 24 MiB.
        package var memory = MemoryPool(bytes: 24 << 20)
        /// Documents in the pipeline: as many as the writers can send. A small document costs more memory than its
        /// bytes.
        package var documentBudget = 1000
        /// The size of requests, and how often a write is tried.
        package var limits = BulkWriter.Limits()
        /// How failed requests are retried.
        package var retries = RetryPolicy.Settings()
        /// Stops the run when too many documents fail. Nil: never.
        package var errorLimit: ErrorLimit?
        /// How many documents the run may change. Nil: any number.
        package var changeLimit: Int?
        /// Guards against rules that write the same documents over and over. Nil for a pass over documents, which can't
        /// loop.
        package var effectLimits: EffectLimits?
        /// Whether this is a pass over all documents: it decides again what an earlier pass wrote.
        package var isPass = false
        /// Whether documents that rules `put` are decided in the same run, without waiting for the feed.
        package var decidesPuts = false
        /// Set for a dry run: nothing is written; what would be is passed to it.
        package var preview: Preview?
        /// The programs' `$now`: seconds since 1970.
        package var now: @Sendable () -> Int = { Timestamp.secondsNow }
        /// Whether a later run continues where this one ends. A full pass has no such place.
        package var savesCheckpoint = true
        /// How writers wait before a retry; a run that can be stopped ends these waits early.
        package var pauses = Pauses()
        /// The options by which the commands that the log advises find the state of this run.
        /// Nil: none can, because the state is gone with the run.
        package var stateOptions: String?
        /// The shortest time between two checkpoints. A crash repeats at most the work since the last one.
        package var checkpointInterval: Duration = .seconds(1)

        /// Without effect limits: the caller sets those of a run that follows a feed.
        package init() {}

        /// Told what the run does. Nil: nobody. Set it in ``retries``.
        var observer: (any RunObserver)? { retries.observer }

        func observe(_ deadLetters: [DeadLetter]) {
            for deadLetter in deadLetters { observer?.note(.deadLettered(rule: deadLetter.rule)) }
        }
    }
}

extension BulkWriter {
    /// The size of requests, and the number of attempts.
    package struct Limits: Sendable {
        /// The most documents in one request.
        package var documents = 250
        /// The most bytes in one request: 4 MiB, attachments as base64 included. A larger document is sent alone.
        package var bytes = 4 << 20
        /// The write of a document at which it is given up: the gateway has failed on so many, or has refused so many
        /// as conflicts although no other revision is there. The two are counted separately.
        package var attempts = AttemptLimits.failures

        /// Limits that Sync Gateway and CouchDB take with their default settings.
        package init() {}

        /// Groups documents into requests, by count and by bytes, in order.
        func requests(_ written: [BulkDocument]) -> [ArraySlice<BulkDocument>] {
            written.grouped(count: documents, bytes: bytes) { $0.byteCount }
        }
    }
}
