internal import GatewayClient

/// Decides what becomes of writes whose request failed: sent again, sent in halves, or given up.
///
/// One for each request, and for each half of one. It asks nobody and waits for nothing: it is told what happened, and
/// says what to do or what it must know first.
struct WriteSuspicion: Sendable {
    /// What only the gateway can tell.
    enum Question: Equatable {
        /// Does it let this user write at all, now? Asked with a write of no documents.
        case doWritesPass
        /// Does it answer other questions?
        case doesGatewayAnswer
    }

    enum Advice: Equatable {
        /// Wait, then send them again.
        case wait
        /// Send them again in halves: one of them may be the cause.
        case halve
        /// Give the one document up.
        case reject
        case ask(Question)
    }

    /// Failures of one request after which it goes on in halves.
    static let failuresBeforeHalving = 3
    /// Failures of a single document that speak against it, after which it is given up.
    static let failuresBeforeRejecting = 10
    /// For how long a document may hold up a writer where nothing tells whether it is to blame.
    static let longestDoubt: Duration = .seconds(600)

    /// How many documents the request writes.
    let documents: Int
    /// Failures in a row that may be of its documents.
    private(set) var failures = 0
    /// Those between which others got through, or the gateway answered other questions.
    private(set) var blame = 0
    private var begun: ContinuousClock.Instant?
    /// Bytes of the run that had got through at the last failure.
    private var bytesBefore: Int?
    /// Whether others got through since this request, or the one that it is a half of, failed first.
    private(set) var othersPass = false
    /// Answers in a row that it can't be written now: the gateway's, or those of a proxy that lost it.
    private var refusedForNow = 0

    init(documents: Int) { self.documents = documents }

    /// Of a part of the request.
    func part(documents: Int) -> WriteSuspicion {
        var part = WriteSuspicion(documents: documents)
        (part.bytesBefore, part.othersPass) = (bytesBefore, othersPass)
        return part
    }

    private var isSingle: Bool { documents == 1 }

    /// Whether it is time to see if the gateway can't write now, or only this request. If writes pass, it is halved.
    var isDoubtful: Bool { documents > 1 && refusedForNow >= Self.failuresBeforeHalving }

    /// A gateway, or a proxy, that fails over a document may just hang up.
    static func mayBeOfDocuments(_ error: GatewayError) -> Bool {
        [.serverError, .malformedAnswer, .timedOut, .connectionLost].contains(error.code)
    }

    /// The request failed. An outage says nothing of its documents.
    ///
    /// - Parameter bytes: Of the run, that have got through by now.
    mutating func note(_ error: GatewayError, bytes: Int, now: ContinuousClock.Instant = .now) {
        refusedForNow = error.code == .unavailable ? refusedForNow + 1 : 0
        if error.code == .unavailable, othersPass || bytesBefore.map({ bytes > $0 }) == true {
            // Others are written meanwhile: it is no outage.
        } else if !Self.mayBeOfDocuments(error) {
            (failures, blame, begun) = (0, 0, nil)
            bytesBefore = error.code == .unavailable ? bytesBefore ?? bytes : nil
            return
        }
        if let bytesBefore, bytes > bytesBefore {
            othersPass = true
            blame += 1
        }
        (bytesBefore, begun) = (bytes, begun ?? now)
        failures += 1
    }

    /// What to do after a failure that has been noted.
    ///
    /// - Parameter mayBeFirewall: Whether documents that are refused one by one are still taken for the doing of a
    ///   firewall before the gateway.
    func advice(after error: GatewayError, mayBeFirewall: Bool, now: ContinuousClock.Instant = .now) -> Advice {
        switch error.code {
        // 413; and 400, 409, 412 of the whole call: CouchDB refuses all for one bad document.
        case .tooLarge, .badRequest, .conflict: return isSingle ? .reject : .halve
        case _ where Self.mayBeOfDocuments(error):
            guard isSingle else { return failures >= Self.failuresBeforeHalving ? .halve : .wait }
            guard failures > 1 else { return .wait }
            // One that hangs up on this document only. What fails to write may well answer other questions.
            if error.code != .serverError, blame < failures - 1 { return .ask(.doesGatewayAnswer) }
            if blame >= Self.failuresBeforeRejecting { return .reject }
            return hasLastedTooLong(now) ? .ask(.doesGatewayAnswer) : .wait
        // Other writes succeed while it keeps failing. An overloaded gateway answers 503 to any document: that needs more.
        case .unavailable where isSingle && blame >= Self.failuresBeforeRejecting * (error.status == 503 ? 3 : 1):
            return .reject
        // A firewall before the gateway does not let one of these documents pass; others, or none, it does.
        case .forbidden, .notFound, .notOffered: return mayBeFirewall ? .ask(.doWritesPass) : .wait
        default: return .wait
        }
    }

    /// What to do once the question is answered that ``advice(after:mayBeFirewall:now:)`` asked.
    mutating func advice(
        given answer: Bool, to question: Question, now: ContinuousClock.Instant = .now
    ) -> Advice {
        switch question {
        case .doWritesPass:
            guard answer else { return .wait }
            return isSingle ? .reject : .halve
        case .doesGatewayAnswer:
            guard answer else { return .wait }
            if blame < failures - 1 { blame += 1 }
            return blame >= Self.failuresBeforeRejecting || hasLastedTooLong(now) ? .reject : .wait
        }
    }

    /// Whether it may still be the document, and no outage, when the retry policy gives up. Then the gateway is asked.
    ///
    /// - Parameter hasFailedBefore: Whether the gateway has failed over this document while it wrote others.
    func isAlone(after error: GatewayError, hasFailedBefore: Bool) -> Bool {
        isSingle && (othersPass || hasFailedBefore) && (Self.mayBeOfDocuments(error) || error.code == .unavailable)
    }

    private func hasLastedTooLong(_ now: ContinuousClock.Instant) -> Bool {
        guard failures >= Self.failuresBeforeRejecting, let begun else { return false }
        return begun.duration(to: now) >= Self.longestDoubt
    }
}
