internal import DocumentFlow
internal import Logging
internal import Rules

/// Fetches what rules attach from URLs, for all writers of a run.
///
/// A server that is down is left alone until its next attempt is due: documents that need it wait, others do not. What
/// was downloaded is kept in memory up to a limit; the ledger remembers its digest, so that after a restart a server
/// need only confirm that the content of an attachment is still the same.
actor Downloads {
    typealias Instant = ContinuousClock.Instant

    private struct Server {
        var health: ReceiverHealth
        /// Whether a request is under way to a server that is down.
        var isTried = false
    }

    /// How long documents wait while another one tries whether the server is back.
    private static let waitForTrial: Duration = .seconds(1)

    private let ledger: Ledger
    private let retries: RetryPolicy.Settings
    private let backoff: Backoff
    private let secrets: SecretContents
    private let reporter: ReceiverOutages.Reporter
    private let logger: Logger
    private let now: @Sendable () -> Instant
    private var cache = DownloadCache()
    private var servers: [String: Server] = [:]
    private let clients = OutsideClients(highWaterMark: 256 << 10)
    /// Why the run must end; nil if it need not.
    private var end: RunError?

    /// Reads the files of all rules.
    ///
    /// - Parameters:
    ///   - sources: Of all rules.
    ///   - backoff: How long to wait before a server that failed is tried again.
    /// - Throws: `RunError` with `.badConfiguration` if a file can't be used.
    init(
        _ sources: Set<DownloadSource>, ledger: Ledger, _ retries: RetryPolicy.Settings, _ backoff: Backoff,
        _ reporter: ReceiverOutages.Reporter, _ logger: Logger, now: @escaping @Sendable () -> Instant = { .now }
    ) throws(RunError) {
        self.ledger = ledger
        self.retries = retries
        self.backoff = backoff
        self.reporter = reporter
        self.logger = logger
        self.now = now
        secrets = SecretContents(logger)
        for source in sources { try secrets.check(source.files, warns: true) }
    }

    /// - Throws: `RunError` if a server was down for longer than a one-shot job retries.
    func check() throws(RunError) {
        if let end { throw end }
    }

    /// Closes all connections.
    nonisolated func close() async {
        reporter.end()
        await clients.close()
    }

    /// Asks this object.
    nonisolated var downloader: Downloader { { await self.answer($0) } }

    /// The content that a rule wants, or why there is none.
    func answer(_ request: DownloadRequest) async -> DownloadAnswer {
        let key = DownloadCache.Key(request)
        let cached = cache.entry(key)
        if let cached, cached.freshUntil > now(), let answer = answer(request, cached.record, cached.content) {
            return answer
        }
        if let wait = wait(for: request) { return wait }
        let known = await validated(request, key, cached)
        let sent = now()
        let token = request.tokenFile.map { secrets.text(SecretFile($0, .token)) }
        let exchange = DownloadExchange(request: request, known: known, token: token)
        servers[request.origin]?.isTried = true
        let outcome = await exchange.run(clients.client(for: request.files))
        servers[request.origin]?.isTried = false
        // Ended with the run, not by the server.
        if Task.isCancelled { return .later(reason: "the run is stopping", wait: .zero) }
        switch outcome {
        case .content(let content, let record, let span):
            succeed(request, sent)
            await keep(content, record, span, key)
            return answer(request, record, content) ?? .content(content, contentType: record.contentType)
        case .same(let span):
            succeed(request, sent)
            if let known, let answer = confirmed(request, key, known, span) { return answer }
            // It was dropped from the cache meanwhile.
            return .later(reason: "the content must be downloaded again", wait: .zero)
        case .refused(let reason):
            succeed(request, sent)
            return .failed(reason: reason)
        case .failed(let failure): return fail(request, failure, sent)
        }
    }

    // MARK: - What is known

    /// The answer that a record gives; nil if its content is needed and not there.
    private func answer(
        _ request: DownloadRequest, _ record: DownloadRecord, _ content: AttachmentContent?
    ) -> DownloadAnswer? {
        // Another rule may permit more.
        guard request.permits(record.contentType) else {
            return .failed(
                reason: "\(request.place) gives \(record.contentType), not \(request.types.joined(separator: ", ")); "
                    + "correct the URL, or add the type to 'types'")
        }
        guard record.length <= request.lengthLimit else {
            return .failed(
                reason:
                    "\(request.place) gives \(record.length) bytes, more than 'max_size' allows; raise it (up to 20MB)")
        }
        if record.isContent(of: request) { return .unchanged }
        return content.map { .content($0, contentType: record.contentType) }
    }

    /// What the server may confirm: that of an entry with its content, or that of the document's own attachment.
    private func validated(
        _ request: DownloadRequest, _ key: DownloadCache.Key, _ cached: DownloadCache.Entry?
    ) async -> DownloadRecord? {
        if let cached, cached.content != nil || cached.record.isContent(of: request) { return cached.record }
        guard request.existing != nil else { return nil }
        let record = try? await ledger.download(of: key.url, tokenFile: key.tokenFile)
        return record.flatMap { $0.canBeValidated && $0.isContent(of: request) ? $0 : nil }
    }

    private func confirmed(
        _ request: DownloadRequest, _ key: DownloadCache.Key, _ known: DownloadRecord, _ span: Duration?
    ) -> DownloadAnswer? {
        let until = now() + (span ?? .zero)
        guard let cached = cache.entry(key), cached.record == known else {
            cache.insert(known, nil, freshUntil: until, key)
            return answer(request, known, nil)
        }
        cache.refresh(key, until: until)
        return answer(request, cached.record, cached.content)
    }

    /// Losing the record is harmless.
    private func keep(
        _ content: AttachmentContent, _ record: DownloadRecord, _ span: Duration?, _ key: DownloadCache.Key
    ) async {
        if let span {
            cache.insert(record, content, freshUntil: now() + span, key)
        } else {
            cache.remove(key)
        }
        let kept = span != nil && record.canBeValidated ? record : nil
        try? await ledger.note(kept, of: key.url, tokenFile: key.tokenFile)
    }

    // MARK: - Servers

    private var newServer: Server {
        Server(health: ReceiverHealth(retries, backoff))
    }

    /// An answer without a request, if the server is down.
    private func wait(for request: DownloadRequest) -> DownloadAnswer? {
        var server = servers[request.origin] ?? newServer
        defer { servers[request.origin] = server }
        guard let outage = server.health.outage else { return nil }
        let due = server.health.due(request.url, now: now())
        guard due != nil || server.isTried else { return nil }
        server.health.noteWaiting(request.url)
        report(server, request)
        return .later(reason: outage.reason, wait: due.map { now().duration(to: $0) } ?? Self.waitForTrial)
    }

    private func report(_ server: Server, _ request: DownloadRequest) {
        reporter.note(ReceiverOutages.Receiver(.downloads, request.origin), server.health.standing)
    }

    private func succeed(_ request: DownloadRequest, _ sent: Instant) {
        guard let span = servers[request.origin]?.health.succeed(request.url, sent: sent, now: now()) else { return }
        if let server = servers[request.origin] { report(server, request) }
        logger.notice(
            "a server of attachments answers again",
            metadata: [LogKey.url: "\(request.origin)", LogKey.wait: "\(span.text)"])
    }

    private func fail(
        _ request: DownloadRequest, _ failure: ReceiverFailure, _ sent: Instant
    ) -> DownloadAnswer {
        var server = servers[request.origin] ?? newServer
        defer { servers[request.origin] = server }
        let (isNews, verdict) = server.health.fail(request.url, failure, sent: sent, now: now())
        if case .retry = verdict { server.health.noteWaiting(request.url) }
        report(server, request)
        if isNews {
            logger.warning(
                "a server of attachments can't be reached, or serves nobody; documents that need it wait",
                metadata: [LogKey.url: "\(request.origin)", LogKey.reason: "\(failure.summary)"])
        }
        switch verdict {
        case .refuse(let attempts):
            return .failed(
                reason: "failed \(attempts) times while the server gives others; the last time: \(failure.reason)")
        case .giveUp(let reason):
            end = end ?? RunError(.gaveUp, reason)
            return .later(reason: reason, wait: .zero)
        case .retry(let due):
            return .later(reason: failure.reason, wait: max(now().duration(to: due), .zero))
        }
    }
}

extension DownloadRecord {
    /// Whether the document has this very content already, with the type that it must have.
    fileprivate func isContent(of request: DownloadRequest) -> Bool {
        guard let existing = request.existing, existing.contentType == request.contentType ?? contentType else {
            return false
        }
        return (existing.digest == sha1 || existing.digest == md5) && existing.length ?? length == length
    }
}
