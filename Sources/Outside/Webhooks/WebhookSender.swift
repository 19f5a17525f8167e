internal import AccessTokens
package import DocumentFlow
internal import Encodings
package import GatewayClient
package import HTTPTransport
internal import Locking
package import Logging
package import LosslessJSON
package import Rules

/// Sends webhooks and interprets the responses. All writers of a run share one.
///
/// It remembers accepted events. So a change that is decided again in the same run, because another of its effects
/// failed, does not send them again. After a restart they are sent again, with the same id.
package final class WebhookSender: Sendable {
    package enum Outcome: Sendable {
        /// Accepted, now or earlier in this run, with the response if the rule merges it.
        case accepted(JSONText?, isNew: Bool)
        /// Refused for good.
        case refused(reason: String)
        /// The receiver is down.
        case postponed(until: ContinuousClock.Instant)
        /// Too many requests wait for the receiver.
        case deferred(until: ContinuousClock.Instant)
    }

    /// The maximum number of bytes of an error response that are decompressed for a message.
    private static let shownBytes = 4096

    private let contents: SecretContents
    private let clients: OutsideClients
    private let retries: RetryPolicy.Settings
    private let backoff: Backoff
    private let reporter: ReceiverOutages.Reporter
    private let logger: Logger
    private let now: @Sendable () -> Int
    private let receivers = Locked<[String: WebhookReceiver]>([:])
    private let accepted = Locked(AcceptedEvents())

    /// Reads the secret and certificate files of all webhooks.
    ///
    /// - Parameters:
    ///   - carrier: Carries all requests to receivers that are simulated in this process. Nil: they are sent over the
    ///     network.
    ///   - now: The time for signatures, in seconds since 1970.
    /// - Throws: `RunError` with `.badConfiguration` if one can't be used.
    package init(
        _ accesses: [WebhookAccess], _ retries: RetryPolicy.Settings, _ backoff: Backoff,
        _ reporter: ReceiverOutages.Reporter, _ logger: Logger, carrier: (any HTTPCarrier)? = nil,
        now: @escaping @Sendable () -> Int
    ) throws(RunError) {
        clients = OutsideClients(highWaterMark: 64 << 10, carrier: carrier)
        contents = SecretContents(logger)
        self.retries = retries
        self.backoff = backoff
        self.reporter = reporter
        self.logger = logger
        self.now = now
        for access in accesses { try contents.check(access.files, warns: true) }
    }

    /// Closes all connections.
    package func close() async {
        reporter.end()
        await clients.close()
    }

    /// - Parameters:
    ///   - identity: The event's id and source, the same for all attempts.
    ///   - document: The document whose change the event reports.
    ///   - revision: The document's revision. If a rule with `at` fires for the same time on another revision, the
    ///     event is sent again, although its id is the same.
    ///   - isReturning: Whether it was deferred before.
    /// - Throws: `RunError` if a one-shot job has waited for `--retry-for`, `CancellationError`.
    package func send(
        _ effect: WebhookEffect, _ identity: CloudEvent.Identity, of document: String, at revision: RevisionID?,
        isReturning: Bool
    ) async throws -> Outcome {
        let key = AcceptedEvents.Key(id: identity.id, revision: revision)
        if let known = accepted.withLock({ $0[key] }) { return .accepted(known.answer, isNew: false) }
        let receiver = receiver(effect.access.origin)
        let start: ContinuousClock.Instant
        switch try await receiver.enter(identity.id, document, isReturning: isReturning) {
        case .open(let now): start = now
        case .down(let due): return .postponed(until: due)
        case .busy(let due): return .deferred(until: due)
        }
        do {
            let outcome = try await attempt(effect, identity, document, receiver, sent: start)
            if case .accepted(let answer, _) = outcome { accepted.withLock { $0.insert(key, answer) } }
            await receiver.leave(since: start)
            return outcome
        } catch {
            await receiver.leave(since: start)
            throw error
        }
    }

    /// When to try again, if one of these receivers would defer the document now. Then none of its events is sent.
    package func retryTimeIfBusy(_ origins: Set<String>, isReturning: Bool) async -> ContinuousClock.Instant? {
        for origin in origins {
            if let retry = await receiver(origin).retryTimeIfBusy(isReturning: isReturning) { return retry }
        }
        return nil
    }

    private func attempt(
        _ effect: WebhookEffect, _ identity: CloudEvent.Identity, _ document: String, _ receiver: WebhookReceiver,
        sent: ContinuousClock.Instant
    ) async throws -> Outcome {
        do {
            let judgement = try await exchange(effect, identity)
            await receiver.answered(identity.id, sent: sent)
            switch judgement {
            case .refused(let reason): return .refused(reason: reason)
            case .accepted(let answer): return .accepted(answer, isNew: true)
            }
        } catch let failure as ReceiverFailure {
            switch await receiver.failed(identity.id, document, failure, sent: sent) {
            case .retry(let due): return .postponed(until: due)
            case .giveUp(let reason): throw RunError(.gaveUp, reason)
            case .refuse(let attempts):
                return .refused(
                    reason: "webhook: failed \(attempts.counted("time")) while the receiver accepts other events; "
                        + "last error: \(failure.reason)")
            }
        }
    }

    private func receiver(_ origin: String) -> WebhookReceiver {
        receivers.withLock { receivers in
            if let known = receivers[origin] { return known }
            let receiver = WebhookReceiver(origin, retries, backoff, reporter, logger)
            receivers[origin] = receiver
            return receiver
        }
    }

    // MARK: - One exchange

    private enum ExchangeResult {
        case accepted(JSONText?)
        case refused(String)
    }

    /// - Throws: ``ReceiverFailure`` if a later attempt may succeed, `RunError`, `CancellationError`.
    private func exchange(_ effect: WebhookEffect, _ identity: CloudEvent.Identity) async throws -> ExchangeResult {
        try retries.requireTenure?()
        do {
            return try await judge(try await response(to: effect, identity), effect)
        } catch let error as HTTPTransportError {
            return try judge(error, effect)
        } catch let error as TokenError {
            if error.kind == .cancelled { throw CancellationError() }
            throw ReceiverFailure(error)
        }
    }

    /// Sends the request. If the receiver refuses the access token, sends it once more with a new one.
    private func response(to effect: WebhookEffect, _ identity: CloudEvent.Identity) async throws -> HTTPResponse {
        let client = clients.client(for: effect.access.files)
        guard let tokens = effect.access.tokens else {
            return try await client.send(request(effect, identity, token: nil))
        }
        return try await tokens.authorize(
            Self.urlWithoutQuery(effect), isRefusal: { $0.status == 401 && effect.statuses.verdict(on: 401) == nil },
            send: { try await client.send(request(effect, identity, token: $0)) })
    }

    private func request(
        _ effect: WebhookEffect, _ identity: CloudEvent.Identity, token: AccessToken?
    ) -> HTTPRequest {
        let secrets = WebhookSecrets(of: effect.access, contents, token: token)
        let content = effect.body.content(identity, setsType: effect.setsType)
        let own = effect.headers + secrets.headers
        let signature = WebhookSignature.headers(
            effect.access.signature, id: identity.id, timestamp: now(), body: content.bytes ?? [],
            secrets: secrets.signing)
        var headers = content.headers + own + signature
        // Services that support neither CloudEvents nor Standard Webhooks recognize repeats by this header.
        if !own.contains(where: { $0.name.lowercased() == "idempotency-key" }) {
            headers.append(("Idempotency-Key", identity.id))
        }
        return HTTPRequest(
            method: effect.method.rawValue, url: effect.url, headers: headers,
            body: content.bytes.map { .bytes($0) } ?? .none, credentials: secrets.credentials,
            deadline: effect.timeout)
    }

    private func judge(_ response: HTTPResponse, _ effect: WebhookEffect) async throws -> ExchangeResult {
        let urlWithoutQuery = Self.urlWithoutQuery(effect)
        let status = response.status
        let verdict = effect.statuses.verdict(on: status)
        if verdict == .retry || verdict == nil,
            let failure = ReceiverFailure(response, of: urlWithoutQuery, isForced: verdict == .retry)
        {
            await response.body.skip()
            throw failure
        }
        switch status {
        case _ where verdict == .done: return try await accept(response, effect)
        case 200..<300 where verdict == nil: return try await accept(response, effect)
        case 300..<400:
            response.body.cancel()
            return .refused(
                "webhook: \(urlWithoutQuery) answered HTTP \(status), a redirect\(Self.target(response)); redirects are not "
                    + "followed: set 'url' to the new address")
        default:
            let beginning = ContentCodings(response.headers).decodeBeginning(
                await response.body.beginning(), limit: Self.shownBytes)
            let text = WebhookAnswer.excerpt(ResponseText(response.headers).decodeBeginning(beginning))
            return .refused(
                "webhook: \(urlWithoutQuery) refused the event with HTTP \(status)"
                    + (verdict == nil ? "" : " (on_status: dead-letter)")
                    + (text.isEmpty ? "" : ": \(text)"))
        }
    }

    private func accept(_ response: HTTPResponse, _ effect: WebhookEffect) async throws -> ExchangeResult {
        guard effect.response != nil else {
            await response.body.skip()
            return .accepted(nil)
        }
        let tooLarge =
            "webhook: \(Self.urlWithoutQuery(effect)) accepted the event, but its response is larger than 1 MiB and is not merged; "
            + "make the response smaller, or remove 'response'"
        let body: [UInt8]
        do throws(HTTPTransportError) {
            body = try await response.body.collect(upTo: WebhookAnswer.lengthLimit)
        } catch {
            guard error.code == .tooLarge else { throw error }
            return .refused(tooLarge)
        }
        let decoded: [UInt8]
        do throws(ContentCodings.Failure) {
            decoded = try ContentCodings(response.headers).decode(body, limit: WebhookAnswer.lengthLimit)
        } catch {
            return .refused(
                error.isTooLong ? tooLarge : Self.unreadable(effect, error.reason, "turn off its compression"))
        }
        let text: [UInt8]
        do throws(ResponseText.Failure) { text = try ResponseText(response.headers).decode(decoded) } catch {
            return .refused(Self.unreadable(effect, error.reason, "make the receiver answer in UTF-8"))
        }
        guard let answer = WebhookAnswer.json(response, text) else {
            return .refused(
                "webhook: the response of \(Self.urlWithoutQuery(effect)) can't be read as JSON or text; remove 'response'"
            )
        }
        return .accepted(answer)
    }

    private static func unreadable(_ effect: WebhookEffect, _ reason: String, _ remedy: String) -> String {
        "webhook: \(urlWithoutQuery(effect)) accepted the event, but its response can't be decoded and is not merged: \(reason); "
            + "\(remedy), or remove 'response'"
    }

    private func judge(_ error: HTTPTransportError, _ effect: WebhookEffect) throws -> ExchangeResult {
        let urlWithoutQuery = Self.urlWithoutQuery(effect)
        if Task.isCancelled { throw CancellationError() }
        if error.code == .outOfResources { throw RunError(.outOfResources, "webhook: \(error)") }
        if error.code == .addressRefused {
            return .refused(
                "webhook: \(urlWithoutQuery) has a link-local address, which is refused because cloud providers serve credentials "
                    + "there; correct the host in 'url'")
        }
        if [.badURL, .invalidRequest, .tooLarge].contains(error.code) {
            return .refused("webhook: \(urlWithoutQuery): \(error.message)")
        }
        throw ReceiverFailure(error)
    }

    /// The URL without its query, which may hold a secret.
    private static func urlWithoutQuery(_ effect: WebhookEffect) -> String {
        effect.access.origin + effect.path.prefix { $0 != "?" }
    }

    /// Where a redirect leads, without user info and path: ` to https://other.example`. Empty if the response does not
    /// say.
    private static func target(_ response: HTTPResponse) -> String {
        response.headers.redirectTarget(includesPath: false).map { " to " + WebhookAnswer.excerpt(Array($0.utf8)) }
            ?? ""
    }
}

/// The most recently accepted events, with the responses that rules merge.
struct AcceptedEvents: Sendable {
    /// 128 bits of a hash that is seeded per process: enough to tell any number of events apart.
    struct Key: Hashable, Sendable {
        private let halves: SIMD2<Int>

        init(id: String, revision: RevisionID?) {
            halves = SIMD2(Self.hash(0, id, revision), Self.hash(1, id, revision))
        }

        private static func hash(_ half: Int, _ id: String, _ revision: RevisionID?) -> Int {
            var hasher = Hasher()
            hasher.combine(half)
            hasher.combine(id)
            hasher.combine(revision)
            return hasher.finalize()
        }
    }

    struct Event: Sendable {
        let answer: JSONText?
    }

    /// There are two generations, so that dropping the oldest events costs nothing.
    private static let generationLimit = 25_000
    private static let generationBytes = 2 << 20

    private var newer: [Key: Event] = [:]
    private var older: [Key: Event] = [:]
    private var bytes = 0

    subscript(key: Key) -> Event? { newer[key] ?? older[key] }

    mutating func insert(_ key: Key, _ answer: JSONText?) {
        newer[key] = Event(answer: answer)
        bytes += answer?.bytes.count ?? 0
        guard newer.count >= Self.generationLimit || bytes >= Self.generationBytes else { return }
        (older, newer, bytes) = (newer, [:], 0)
    }
}
