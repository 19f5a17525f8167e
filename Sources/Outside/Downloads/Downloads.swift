package import BotState
package import DocumentFlow
package import HTTPTransport
internal import Locking
package import Logging
package import Rules

/// Downloads the contents that rules attach from URLs. All writers of a run share one.
///
/// A server that is down gets no request until its next attempt is due. Only the documents that need it wait. If a server
/// is slow, the request continues and its document is deferred. Contents are cached in memory up to a limit. The ledger
/// keeps their digests, so after a restart a server only has to confirm that an attachment is still current.
package actor Downloads {
    package typealias Instant = ContinuousClock.Instant

    /// How long documents wait while another one probes whether the server is up again.
    private static let waitForProbe: Duration = .seconds(1)

    private let ledger: Ledger
    private let retries: RetryPolicy.Settings
    private let backoff: Backoff
    private let secrets: SecretContents
    private let reporter: ReceiverOutages.Reporter
    private let logger: Logger
    private var cache = DownloadCache()
    private var servers: [String: DownloadServer] = [:]
    /// Documents that wait for a response, or for a request to begin.
    private var waiters: [Signal] = []
    private var cleanup: Task<Void, Never>?
    private let clients: OutsideClients
    /// Why the run must end. Nil: it continues.
    private var end: RunError?

    /// Reads the secret and certificate files of all rules.
    ///
    /// - Parameters:
    ///   - sources: The sources of all rules.
    ///   - backoff: The waits between attempts at a failing server.
    ///   - carrier: Carries all requests to servers that are simulated in this process. Nil: they are sent over the
    ///     network.
    /// - Throws: `RunError` with `.badConfiguration` if a file is unusable.
    package init(
        _ sources: Set<DownloadSource>, ledger: Ledger, _ retries: RetryPolicy.Settings, _ backoff: Backoff,
        _ reporter: ReceiverOutages.Reporter, _ logger: Logger, carrier: (any HTTPCarrier)? = nil
    ) throws(RunError) {
        self.ledger = ledger
        self.retries = retries
        self.backoff = backoff
        self.reporter = reporter
        self.logger = logger
        clients = OutsideClients(highWaterMark: 256 << 10, carrier: carrier)
        secrets = SecretContents(logger)
        for source in sources { try secrets.check(source.files, warns: true) }
    }

    /// - Throws: `RunError` if a server was down for longer than a one-shot job retries.
    package func check() throws(RunError) {
        if let end { throw end }
    }

    /// Cancels all requests and closes all connections.
    package nonisolated func close() async {
        reporter.end()
        await cancel()
        await clients.close()
    }

    private func cancel() {
        cleanup?.cancel()
        for server in servers.values { server.cancel() }
    }

    /// The interface for rules.
    package nonisolated var downloader: Downloader {
        Downloader(
            answer: { await self.answer($0, for: $1, by: $2) }, release: { await self.release($0) })
    }

    /// The content for a rule, or why there is none.
    ///
    /// - Parameters:
    ///   - documents: The ids of the documents that need it. A content is kept for its document until ``release(_:)``.
    ///   - deadline: A request that takes longer continues. Its answer is kept until the document asks again.
    func answer(_ request: DownloadRequest, for documents: [String], by deadline: Instant) async -> DownloadAnswer {
        let key = DownloadCache.Key(request)
        while !Task.isCancelled {
            let document = servers[request.origin]?.first(of: documents) ?? documents[0]
            if let answer = cached(request, key) ?? known(request, document) { return answer }
            let now = Instant.now
            if servers[request.origin]?.start(of: request) == nil {
                if let wait = wait(for: request) { return wait }
                guard begin(request, key, for: document, now) else { return deferred(request, document, now) }
            }
            if deadline <= now || isSlow(request, now) { return deferred(request, document, now) }
            await change(by: deadline)
        }
        return .later(reason: Self.stopping, wait: .zero)
    }

    /// Drops the contents that are kept for a document, because it is decided.
    func release(_ document: String) {
        for server in servers.values {
            server.release(document)
            beginWanted(at: server)
        }
        wake()
    }

    private static let stopping = "the run is stopping"

    // MARK: - Requests

    /// - Returns: Whether the request has begun, or will soon.
    private func begin(
        _ request: DownloadRequest, _ key: DownloadCache.Key, for document: String, _ now: Instant
    ) -> Bool {
        let server = server(of: request)
        switch server.entry(request, for: document) {
        case .full: return false
        case .waiting: return true
        case .open:
            server.isProbed = true
            server.begin(request, for: document, Task { await run(request, key) }, now: now)
            return true
        }
    }

    /// Begins requests of deferred documents.
    private func beginWanted(at server: DownloadServer) {
        let now = Instant.now
        while let next = server.next() {
            let key = DownloadCache.Key(next.request)
            // Another document may have needed the same content.
            if cached(next.request, key) != nil {
                server.forget(next)
            } else {
                _ = begin(next.request, key, for: next.document, now)
            }
        }
    }

    private func run(_ request: DownloadRequest, _ key: DownloadCache.Key) async {
        let answer = await exchange(request, key)
        let server = server(of: request)
        server.isProbed = false
        server.end(request, answer, now: .now)
        beginWanted(at: server)
        wake()
        scheduleCleanup()
    }

    private func exchange(_ request: DownloadRequest, _ key: DownloadCache.Key) async -> DownloadServer.Answer {
        let known = await validated(request, key)
        let sent = Instant.now
        let token = request.tokenFile.map { secrets.text(SecretFile($0, .token)) }
        let exchange = DownloadExchange(request: request, known: known, token: token)
        let outcome = await exchange.run(clients.client(for: request.files))
        // The run ended the request, not the server.
        if Task.isCancelled { return .later(reason: Self.stopping, due: .now) }
        switch outcome {
        case .content(let content, let record, let freshness):
            succeed(request, sent)
            await keep(content, record, freshness, key)
            return .ready(answer(request, record, content) ?? .content(content, contentType: record.contentType))
        case .same(let freshness):
            succeed(request, sent)
            if let known, let answer = confirmed(request, key, known, freshness) { return .ready(answer) }
            // The content was dropped from the cache meanwhile.
            return .later(reason: "the content must be downloaded again", due: .now)
        case .refused(let reason):
            succeed(request, sent)
            return .ready(.failed(reason: reason))
        case .failed(let failure): return fail(request, failure, sent)
        }
    }

    /// The answer to a request that has ended.
    private func known(_ request: DownloadRequest, _ document: String) -> DownloadAnswer? {
        switch servers[request.origin]?.answer(to: request, for: document, now: .now) {
        case .ready(let answer): answer
        case .later(let reason, let due): .later(reason: reason, wait: max(.zero, Instant.now.duration(to: due)))
        case nil: nil
        }
    }

    // MARK: - Waiting

    /// Returns when a response has arrived or contents were released, at the latest at the deadline.
    private func change(by deadline: Instant) async {
        let signal = Signal()
        waiters.append(signal)
        defer { waiters.removeAll { $0 === signal } }
        // Callers check for cancellation themselves.
        try? await signal.wait(until: deadline)
    }

    private func wake() {
        for waiter in waiters { waiter.raise() }
    }

    private func isSlow(_ request: DownloadRequest, _ now: Instant) -> Bool {
        servers[request.origin]?.isSlow(now) ?? false
    }

    private func deferred(_ request: DownloadRequest, _ document: String, _ now: Instant) -> DownloadAnswer {
        let server = server(of: request)
        let (due, shouldLog) = server.deferDocument(request, document, now: now)
        if shouldLog {
            logger.notice(
                "attachment server too slow; documents that need it wait",
                metadata: [LogKey.url: "\(request.origin)"])
        }
        return .later(reason: "\(request.place) takes longer", wait: now.duration(to: due))
    }

    /// Drops contents that no document has asked for in ``DownloadServer/maxAbsence``.
    private func scheduleCleanup() {
        guard cleanup == nil, servers.values.contains(where: { !$0.keepsNothing }) else { return }
        cleanup = Task {
            try? await Task.sleep(for: DownloadServer.maxAbsence)
            cleanup = nil
            guard !Task.isCancelled else { return }
            for server in servers.values {
                server.dropAbandoned(.now)
                beginWanted(at: server)
            }
            wake()
            scheduleCleanup()
        }
    }

    // MARK: - Known contents

    /// An answer from the cache.
    private func cached(_ request: DownloadRequest, _ key: DownloadCache.Key) -> DownloadAnswer? {
        guard let entry = cache.entry(key), entry.freshUntil > .now else { return nil }
        return answer(request, entry.record, entry.content)
    }

    /// The answer that a record gives. Nil if the content is needed but not cached.
    private func answer(
        _ request: DownloadRequest, _ record: DownloadRecord, _ content: AttachmentContent?
    ) -> DownloadAnswer? {
        // Another rule may permit more.
        guard request.permits(record.contentType) else {
            return .failed(
                reason:
                    "\(request.place) sent \(record.contentType) instead of \(request.types.joined(separator: ", ")); "
                    + "correct the URL, or add the type to 'types'")
        }
        guard record.length <= request.lengthLimit else {
            return .failed(
                reason:
                    "\(request.place) sent \(record.length) bytes, more than 'max_size' allows; raise it (up to 20MB)")
        }
        if record.isContent(of: request) { return .unchanged }
        return content.map {
            .content($0, contentType: record.contentType)
        }
    }

    /// The record for a conditional request: of a cached content, or of the document's current attachment.
    private func validated(
        _ request: DownloadRequest, _ key: DownloadCache.Key
    ) async -> DownloadRecord? {
        if let cached = cache.entry(key), cached.content != nil || cached.record.isContent(of: request) {
            return cached.record
        }
        guard request.existing != nil else { return nil }
        let record = try? await ledger.download(of: key.url, client: key.client)
        return record.flatMap { $0.canBeValidated && $0.isContent(of: request) ? $0 : nil }
    }

    private func confirmed(
        _ request: DownloadRequest, _ key: DownloadCache.Key, _ known: DownloadRecord, _ freshness: Duration?
    ) -> DownloadAnswer? {
        let until = Instant.now + (freshness ?? .zero)
        guard let cached = cache.entry(key), cached.record == known else {
            cache.insert(known, nil, freshUntil: until, key)
            return answer(request, known, nil)
        }
        cache.refresh(key, until: until)
        return answer(request, cached.record, cached.content)
    }

    /// Caches a content and records its digest. Ignores errors, because losing the record is harmless.
    private func keep(
        _ content: AttachmentContent, _ record: DownloadRecord, _ freshness: Duration?, _ key: DownloadCache.Key
    ) async {
        if let freshness {
            cache.insert(record, content, freshUntil: Instant.now + freshness, key)
        } else {
            cache.remove(key)
        }
        let kept = freshness != nil && record.canBeValidated ? record : nil
        try? await ledger.note(kept, of: key.url, client: key.client)
    }

    // MARK: - Servers

    private func server(of request: DownloadRequest) -> DownloadServer {
        if let known = servers[request.origin] { return known }
        let server = DownloadServer(ReceiverHealth(retries, backoff))
        servers[request.origin] = server
        return server
    }

    /// The answer while the server is down. Nil: a request may be sent.
    private func wait(for request: DownloadRequest) -> DownloadAnswer? {
        guard let server = servers[request.origin], let outage = server.health.outage else { return nil }
        let now = Instant.now
        let due = server.health.due(request.url, now: now)
        guard due != nil || server.isProbed else { return nil }
        server.health.noteWaiting(request.url)
        report(server, request)
        return .later(reason: outage.reason, wait: due.map { now.duration(to: $0) } ?? Self.waitForProbe)
    }

    private func report(_ server: DownloadServer, _ request: DownloadRequest) {
        reporter.note(ReceiverOutages.Receiver(.downloads, request.origin), server.health.status)
    }

    private func succeed(_ request: DownloadRequest, _ sent: Instant) {
        guard let span = servers[request.origin]?.health.succeed(request.url, sent: sent, now: .now) else { return }
        if let server = servers[request.origin] { report(server, request) }
        logger.notice(
            "an attachment server is up again",
            metadata: [LogKey.url: "\(request.origin)", LogKey.wait: "\(span.text)"])
    }

    private func fail(
        _ request: DownloadRequest, _ failure: ReceiverFailure, _ sent: Instant
    ) -> DownloadServer.Answer {
        let server = server(of: request)
        let (shouldLog, verdict) = server.health.fail(request.url, failure, sent: sent, now: .now)
        if case .retry = verdict { server.health.noteWaiting(request.url) }
        report(server, request)
        if shouldLog {
            logger.warning(
                "an attachment server is down; documents that need it wait",
                metadata: [LogKey.url: "\(request.origin)", LogKey.reason: "\(failure.summary)"])
        }
        switch verdict {
        case .refuse(let attempts):
            return .ready(
                .failed(
                    reason:
                        "failed \(attempts) times while the server serves other requests; last error: \(failure.reason)"
                ))
        case .giveUp(let reason):
            end = end ?? RunError(.gaveUp, reason)
            return .later(reason: reason, due: .now)
        case .retry(let due): return .later(reason: failure.reason, due: due)
        }
    }
}

extension DownloadRecord {
    /// Whether the document has this content already, with the required type.
    fileprivate func isContent(of request: DownloadRequest) -> Bool {
        guard let existing = request.existing, existing.contentType == request.contentType ?? contentType else {
            return false
        }
        if let described = existing.blobDigest, described != sha1 { return false }
        return (existing.digest == sha1 || existing.digest == md5) && existing.length ?? length == length
    }
}
