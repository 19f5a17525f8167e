package import BotState
package import DocumentFlow
internal import Locking
package import Logging
package import Rules

/// Fetches what rules attach from URLs, for all writers of a run.
///
/// A server that is down is left alone until its next attempt is due: documents that need it wait, others do not. What a
/// slow server has not given in time goes on without the document, which comes back for it later. What was downloaded is
/// kept in memory up to a limit; the ledger remembers its digest, so that after a restart a server need only confirm that
/// the content of an attachment is still the same.
package actor Downloads {
    package typealias Instant = ContinuousClock.Instant

    /// How long documents wait while another one tries whether the server is back.
    private static let waitForTrial: Duration = .seconds(1)

    private let ledger: Ledger
    private let retries: RetryPolicy.Settings
    private let backoff: Backoff
    private let secrets: SecretContents
    private let reporter: ReceiverOutages.Reporter
    private let logger: Logger
    private var cache = DownloadCache()
    private var servers: [String: DownloadServer] = [:]
    /// Those that wait for an answer, or for a place at a server.
    private var waiters: [Int: Signal] = [:]
    private var lastWaiter = 0
    private var reviewing: Task<Void, Never>?
    private let clients = OutsideClients(highWaterMark: 256 << 10)
    /// Why the run must end; nil if it need not.
    private var end: RunError?

    /// Reads the files of all rules.
    ///
    /// - Parameters:
    ///   - sources: Of all rules.
    ///   - backoff: How long to wait before a server that failed is tried again.
    /// - Throws: `RunError` with `.badConfiguration` if a file can't be used.
    package init(
        _ sources: Set<DownloadSource>, ledger: Ledger, _ retries: RetryPolicy.Settings, _ backoff: Backoff,
        _ reporter: ReceiverOutages.Reporter, _ logger: Logger
    ) throws(RunError) {
        self.ledger = ledger
        self.retries = retries
        self.backoff = backoff
        self.reporter = reporter
        self.logger = logger
        secrets = SecretContents(logger)
        for source in sources { try secrets.check(source.files, warns: true) }
    }

    /// - Throws: `RunError` if a server was down for longer than a one-shot job retries.
    package func check() throws(RunError) {
        if let end { throw end }
    }

    /// Ends what is under way, and closes all connections.
    package nonisolated func close() async {
        reporter.end()
        await cancel()
        await clients.close()
    }

    private func cancel() {
        reviewing?.cancel()
        for server in servers.values { server.cancel() }
    }

    /// Asks this object.
    package nonisolated var downloader: Downloader {
        Downloader(
            answer: { await self.answer($0, for: $1, by: $2) }, release: { await self.release($0) })
    }

    /// The content that a rule wants, or why there is none.
    ///
    /// - Parameters:
    ///   - documents: The ids of those that need it. What was fetched for one is kept until ``release(_:)``.
    ///   - deadline: A request that takes longer goes on, and its answer is there when the document asks again.
    func answer(_ request: DownloadRequest, for documents: [String], by deadline: Instant) async -> DownloadAnswer {
        let key = DownloadCache.Key(request)
        while !Task.isCancelled {
            let document = servers[request.origin]?.first(of: documents) ?? documents[0]
            if let answer = cached(request, key) ?? known(request, document) { return answer }
            let now = Instant.now
            if servers[request.origin]?.start(of: request) == nil {
                if let wait = wait(for: request) { return wait }
                guard begin(request, key, for: document, now) else { return sendAway(request, document, now) }
            }
            if deadline <= now || isSlow(request, now) { return sendAway(request, document, now) }
            await change(by: deadline)
        }
        return .later(reason: Self.stopping, wait: .zero)
    }

    /// A document is decided.
    func release(_ document: String) {
        for server in servers.values {
            server.release(document)
            beginWanted(at: server)
        }
        wake()
    }

    private static let stopping = "the run is stopping"

    // MARK: - Requests

    /// - Returns: Whether it has begun, or may soon.
    private func begin(
        _ request: DownloadRequest, _ key: DownloadCache.Key, for document: String, _ now: Instant
    ) -> Bool {
        let server = server(of: request)
        switch server.entry(request, for: document) {
        case .full: return false
        case .waiting: return true
        case .open:
            server.isTried = true
            server.begin(request, for: document, Task { await run(request, key) }, now: now)
            return true
        }
    }

    /// Begins requests of documents that were sent away.
    private func beginWanted(at server: DownloadServer) {
        let now = Instant.now
        while let next = server.next() {
            let key = DownloadCache.Key(next.request)
            // Others may have wanted the same.
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
        server.isTried = false
        server.end(request, answer, now: .now)
        beginWanted(at: server)
        wake()
        reviewLater()
    }

    private func exchange(_ request: DownloadRequest, _ key: DownloadCache.Key) async -> DownloadServer.Answer {
        let known = await validated(request, key)
        let sent = Instant.now
        let token = request.tokenFile.map { secrets.text(SecretFile($0, .token)) }
        let exchange = DownloadExchange(request: request, known: known, token: token)
        let outcome = await exchange.run(clients.client(for: request.files))
        // Ended with the run, not by the server.
        if Task.isCancelled { return .later(reason: Self.stopping, due: .now) }
        switch outcome {
        case .content(let content, let record, let span):
            succeed(request, sent)
            await keep(content, record, span, key)
            return .ready(answer(request, record, content) ?? .content(content, contentType: record.contentType))
        case .same(let span):
            succeed(request, sent)
            if let known, let answer = confirmed(request, key, known, span) { return .ready(answer) }
            // It was dropped from the cache meanwhile.
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

    /// Returns after an answer has come or was taken, and at the deadline at the latest.
    private func change(by deadline: Instant) async {
        let signal = Signal()
        lastWaiter += 1
        let number = lastWaiter
        waiters[number] = signal
        defer { waiters[number] = nil }
        // Whoever is cancelled looks for that itself.
        try? await signal.wait(until: deadline)
    }

    private func wake() {
        for waiter in waiters.values { waiter.raise() }
    }

    private func isSlow(_ request: DownloadRequest, _ now: Instant) -> Bool {
        servers[request.origin]?.isSlow(now) ?? false
    }

    private func sendAway(_ request: DownloadRequest, _ document: String, _ now: Instant) -> DownloadAnswer {
        let server = server(of: request)
        let (due, isNews) = server.sendAway(request, document, now: now)
        if isNews {
            logger.notice(
                "a server of attachments is slower than documents come; those that need it wait, and others do not",
                metadata: [LogKey.url: "\(request.origin)"])
        }
        return .later(reason: "\(request.place) takes longer", wait: now.duration(to: due))
    }

    /// Drops what no document has come back for, after a while.
    private func reviewLater() {
        guard reviewing == nil, servers.values.contains(where: { !$0.keepsNothing }) else { return }
        reviewing = Task {
            try? await Task.sleep(for: DownloadServer.longestAbsence)
            reviewing = nil
            guard !Task.isCancelled else { return }
            for server in servers.values {
                server.dropAbandoned(.now)
                beginWanted(at: server)
            }
            wake()
            reviewLater()
        }
    }

    // MARK: - What is known

    /// The answer that needs no request.
    private func cached(_ request: DownloadRequest, _ key: DownloadCache.Key) -> DownloadAnswer? {
        guard let entry = cache.entry(key), entry.freshUntil > .now else { return nil }
        return answer(request, entry.record, entry.content)
    }

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
        return content.map {
            .content($0, contentType: record.contentType)
        }
    }

    /// What the server may confirm: that of an entry with its content, or that of the document's own attachment.
    private func validated(
        _ request: DownloadRequest, _ key: DownloadCache.Key
    ) async -> DownloadRecord? {
        if let cached = cache.entry(key), cached.content != nil || cached.record.isContent(of: request) {
            return cached.record
        }
        guard request.existing != nil else { return nil }
        let record = try? await ledger.download(of: key.url, tokenFile: key.tokenFile)
        return record.flatMap { $0.canBeValidated && $0.isContent(of: request) ? $0 : nil }
    }

    private func confirmed(
        _ request: DownloadRequest, _ key: DownloadCache.Key, _ known: DownloadRecord, _ span: Duration?
    ) -> DownloadAnswer? {
        let until = Instant.now + (span ?? .zero)
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
            cache.insert(record, content, freshUntil: Instant.now + span, key)
        } else {
            cache.remove(key)
        }
        let kept = span != nil && record.canBeValidated ? record : nil
        try? await ledger.note(kept, of: key.url, tokenFile: key.tokenFile)
    }

    // MARK: - Servers

    private func server(of request: DownloadRequest) -> DownloadServer {
        if let known = servers[request.origin] { return known }
        let server = DownloadServer(ReceiverHealth(retries, backoff))
        servers[request.origin] = server
        return server
    }

    /// An answer without a request, if the server is down.
    private func wait(for request: DownloadRequest) -> DownloadAnswer? {
        guard let server = servers[request.origin], let outage = server.health.outage else { return nil }
        let now = Instant.now
        let due = server.health.due(request.url, now: now)
        guard due != nil || server.isTried else { return nil }
        server.health.noteWaiting(request.url)
        report(server, request)
        return .later(reason: outage.reason, wait: due.map { now.duration(to: $0) } ?? Self.waitForTrial)
    }

    private func report(_ server: DownloadServer, _ request: DownloadRequest) {
        reporter.note(ReceiverOutages.Receiver(.downloads, request.origin), server.health.standing)
    }

    private func succeed(_ request: DownloadRequest, _ sent: Instant) {
        guard let span = servers[request.origin]?.health.succeed(request.url, sent: sent, now: .now) else { return }
        if let server = servers[request.origin] { report(server, request) }
        logger.notice(
            "a server of attachments answers again",
            metadata: [LogKey.url: "\(request.origin)", LogKey.wait: "\(span.text)"])
    }

    private func fail(
        _ request: DownloadRequest, _ failure: ReceiverFailure, _ sent: Instant
    ) -> DownloadServer.Answer {
        let server = server(of: request)
        let (isNews, verdict) = server.health.fail(request.url, failure, sent: sent, now: .now)
        if case .retry = verdict { server.health.noteWaiting(request.url) }
        report(server, request)
        if isNews {
            logger.warning(
                "an attachment server is down; documents that need it wait",
                metadata: [LogKey.url: "\(request.origin)", LogKey.reason: "\(failure.summary)"])
        }
        switch verdict {
        case .refuse(let attempts):
            return .ready(
                .failed(
                    reason: "failed \(attempts) times while the server gives others; the last time: \(failure.reason)"))
        case .giveUp(let reason):
            end = end ?? RunError(.gaveUp, reason)
            return .later(reason: reason, due: .now)
        case .retry(let due): return .later(reason: failure.reason, due: due)
        }
    }
}

extension DownloadRecord {
    /// Whether the document has this very content already, with the type that it must have.
    fileprivate func isContent(of request: DownloadRequest) -> Bool {
        guard let existing = request.existing, existing.contentType == request.contentType ?? contentType else {
            return false
        }
        if let described = existing.blobDigest, described != sha1 { return false }
        return (existing.digest == sha1 || existing.digest == md5) && existing.length ?? length == length
    }
}
