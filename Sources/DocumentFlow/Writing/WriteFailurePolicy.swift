internal import GatewayClient

/// Decides what to do with a failed write request: send it again, send it in halves, or give up.
///
/// One per request, and per half of a request. Does no I/O: it is told what happened, and returns what to do or what it
/// needs to know first.
struct WriteFailurePolicy: Sendable {
    /// A question that only another request to the gateway can answer.
    enum Question: Equatable {
        /// May this user write at all now? Tested with an empty write.
        case writesAreAllowed
        /// Does it answer other requests?
        case gatewayResponds
    }

    enum Advice: Equatable {
        /// Wait, then send the request again.
        case wait
        /// Send the request again in halves: one of its documents may be the cause.
        case halve
        /// Give up the only document of the request.
        case reject
        case ask(Question)
    }

    /// How often a request may lose the connection before the next measure, if the gateway answers others in between.
    struct CutLimits: Equatable {
        static let usual = CutLimits(
            beforeHalving: AttemptLimits.minFailuresForHalving, beforeRejecting: AttemptLimits.failures)
        /// For a request that may be too large.
        static let ifTooLarge = CutLimits(beforeHalving: 2, beforeRejecting: AttemptLimits.failures / 2)

        let beforeHalving: Int
        let beforeRejecting: Int
    }

    /// How long a document may block a writer if nothing shows whether it is the cause.
    private static let maxBlockingTime: Duration = .seconds(600)

    /// The number of documents of the request.
    let documents: Int
    /// Whether it is a `PUT` of one document.
    let isPut: Bool
    /// Consecutive failures that the documents may have caused.
    private(set) var failures = 0
    /// The failures that count against the documents: other writes succeeded in between, or the gateway answered a
    /// probe.
    private(set) var suspectedFailures = 0
    private var begun: ContinuousClock.Instant?
    /// The bytes that the run had written at the last failure.
    private var bytesBefore: Int?
    /// Whether other writes succeeded since this request, or the one it is half of, first failed.
    private(set) var othersPass = false
    /// The limits of this request if it loses the connection.
    var limits = CutLimits.usual
    /// Consecutive "unavailable" answers, from the gateway or from a proxy that can't reach it.
    private var temporaryRefusals = 0

    init(documents: Int, isPut: Bool = false) {
        self.documents = documents
        self.isPut = isPut
    }

    /// The state for a part of the request.
    func part(documents: Int) -> WriteFailurePolicy {
        var part = WriteFailurePolicy(documents: documents)
        (part.bytesBefore, part.othersPass) = (bytesBefore, othersPass)
        return part
    }

    private var isSingle: Bool { documents == 1 }

    /// Whether to check if the gateway can't write now or only this request fails. If other writes pass, the request is
    /// halved.
    var needsProbe: Bool { documents > 1 && temporaryRefusals >= AttemptLimits.minFailuresForHalving }

    /// Whether documents may have caused the error: a gateway or proxy may simply close the connection on one.
    static func mayBeCausedByDocuments(_ error: GatewayError) -> Bool {
        [.serverError, .malformedAnswer, .timedOut, .connectionLost].contains(error.code)
    }

    /// Whether the gateway may have refused the document itself, if writes pass. `_bulk_docs` would have answered with
    /// a row. There may be many such documents, and a firewall is not the cause.
    func mayBeRefusal(_ error: GatewayError) -> Bool {
        isPut && [.unauthorized, .forbidden, .notFound].contains(error.code)
    }

    /// Whether the gateway refuses requests with such content. This may affect any number of documents. Other 4xx may
    /// also come from a firewall.
    func mayBeCausedByContent(_ error: GatewayError) -> Bool {
        switch error.code {
        case .tooLarge, .conflict: true
        case .badRequest: isPut || [nil, 400, 415, 422].contains(error.status)
        default: false
        }
    }

    /// The error that determines the wait if all writes are refused, though the gateway has answered this user. Such a
    /// refusal may end, so a one-shot run gives up in time and a daemon waits.
    func outage(of error: GatewayError) -> GatewayError {
        guard [.tooLarge, .conflict, .badRequest, .forbidden].contains(error.code) else { return error }
        var outage = error
        outage.code = .unavailable
        if error.code == .forbidden { outage.message += "; \(Self.forbiddenRemedy)" }
        return outage
    }

    private static let forbiddenRemedy =
        "all writes are refused: give the user the right to write, or ask whether the account is suspended"

    /// Records a failed request. An outage does not count against its documents.
    ///
    /// - Parameter bytes: The bytes that the run has written so far.
    mutating func note(_ error: GatewayError, writtenByRun bytes: Int, now: ContinuousClock.Instant = .now) {
        temporaryRefusals = error.code == .unavailable ? temporaryRefusals + 1 : 0
        if error.code == .unavailable, othersPass || bytesBefore.map({ bytes > $0 }) == true {
            // Other writes succeed meanwhile, so it is not an outage.
        } else if !Self.mayBeCausedByDocuments(error) {
            (failures, suspectedFailures, begun) = (0, 0, nil)
            bytesBefore = error.code == .unavailable ? bytesBefore ?? bytes : nil
            return
        }
        if let bytesBefore, bytes > bytesBefore {
            othersPass = true
            suspectedFailures += 1
        }
        (bytesBefore, begun) = (bytes, begun ?? now)
        failures += 1
    }

    /// What to do after a recorded failure.
    ///
    /// - Parameter mayBeFirewall: Whether documents that are refused individually still count as blocked by a firewall
    ///   in front of the gateway.
    func advice(after error: GatewayError, mayBeFirewall: Bool, now: ContinuousClock.Instant = .now) -> Advice {
        switch error.code {
        // 413, and 400, 409, 412 for the whole request: CouchDB refuses all for one bad document. If even an empty
        // write is refused, the document is not the cause.
        case _ where mayBeCausedByContent(error): return isSingle ? .ask(.writesAreAllowed) : .halve
        case _ where Self.mayBeCausedByDocuments(error):
            let limits = error.isCut ? limits : .usual
            guard isSingle else { return failures >= limits.beforeHalving ? .halve : .wait }
            guard failures > 1 else { return .wait }
            // A gateway may close the connection only for this document. No probe after a 500, which proves nothing.
            if error.code != .serverError, suspectedFailures < failures - 1 { return .ask(.gatewayResponds) }
            if suspectedFailures >= limits.beforeRejecting { return .reject }
            return hasLastedTooLong(now) ? .ask(.gatewayResponds) : .wait
        // Other writes succeed while it keeps failing. 503 needs more: an overloaded gateway may send it for any
        // document.
        case .unavailable
        where isSingle && suspectedFailures >= AttemptLimits.failures * (error.status == 503 ? 3 : 1):
            return .reject
        case _ where mayBeRefusal(error): return .ask(.writesAreAllowed)
        // A firewall in front of the gateway may block one of these documents, and accept others or an empty write.
        case .forbidden, .notFound, .notOffered, .badRequest: return mayBeFirewall ? .ask(.writesAreAllowed) : .wait
        default: return .wait
        }
    }

    /// What to do after the answer to a question of ``advice(after:mayBeFirewall:now:)``.
    mutating func advice(
        given answer: Bool, to question: Question, now: ContinuousClock.Instant = .now
    ) -> Advice {
        switch question {
        case .writesAreAllowed:
            guard answer else { return .wait }
            return isSingle ? .reject : .halve
        case .gatewayResponds:
            guard answer else { return .wait }
            if suspectedFailures < failures - 1 { suspectedFailures += 1 }
            return suspectedFailures >= limits.beforeRejecting || hasLastedTooLong(now) ? .reject : .wait
        }
    }

    /// Whether the document instead of an outage may be the cause when the retry policy gives up. The caller then
    /// probes the gateway.
    ///
    /// - Parameter hasFailedBefore: Whether the gateway has failed to write this document while it wrote others.
    func mayBeCause(after error: GatewayError, hasFailedBefore: Bool) -> Bool {
        // The gateway has answered between several lost connections of this request, so it is not an outage.
        let isCutOfThisRequest = error.isCut && suspectedFailures > 1
        return isSingle && (othersPass || hasFailedBefore || isCutOfThisRequest)
            && (Self.mayBeCausedByDocuments(error) || error.code == .unavailable)
    }

    private func hasLastedTooLong(_ now: ContinuousClock.Instant) -> Bool {
        guard failures >= AttemptLimits.failures, let begun else { return false }
        return begun.duration(to: now) >= Self.maxBlockingTime
    }
}

extension GatewayError {
    /// Whether the connection was lost during a request: servers and proxies close it on a body that is too large.
    var isCut: Bool { code == .connectionLost }
}
