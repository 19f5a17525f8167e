internal import Encodings

/// An injected fault: the affected requests, the timing and the action.
struct Fault: Sendable {
    /// Unique in its plan: from the file, or derived from the action.
    var name: String
    var requests = RequestSelection()
    var timing = FaultTiming()
    var action: FaultAction

    /// The time at which the fault is due independently of requests. Nil if requests trigger it.
    var scheduledAfter: Duration? {
        guard case .time(let time) = timing.after, case .always = timing.frequency, timing.times == 1 else {
            return nil
        }
        switch action {
        case .reset, .offline: return time
        default: return nil
        }
    }
}

extension Fault: CustomStringConvertible {
    var description: String { "\(action)\(requests)\(timing)" }
}

/// The effect of a fault.
enum FaultAction: Sendable {
    /// The request is delayed by this many milliseconds before it is carried out.
    case latency(ClosedRange<Int>)
    /// The body is sent in pieces of this size, with a pause between them.
    case slice(bytes: Int, pause: Duration)
    /// The connection is closed after this many bytes of the body. 0: before the head. Shorter bodies are unaffected.
    case cut(ClosedRange<Int>)
    /// The connection is closed before the request is carried out.
    case dropBefore
    /// The request is carried out, but its answer is lost.
    case dropAfter
    /// The request is not carried out and gets this answer.
    case status(StatusFault)
    /// The request is not carried out and never answered, until the client disconnects.
    case hang
    /// A feed sends only empty lines, at this interval, until the client disconnects.
    case heartbeatsOnly(Duration)
    /// A feed ends after this many rows, with the `last_seq` of the last one.
    case lastSequenceEarly(Int)
    /// This share of the rows, from 0 to 1, is sent twice.
    case duplicate(Double)
    /// Rows are shuffled in groups of this size.
    case reorder(Int)
    /// A feed begins this many sequences before the requested one.
    case rewind(Int)
    /// The answer is 401, and the request's session ends.
    case sessionExpired
    /// Some documents of `_bulk_docs` are not written.
    case refuseDocuments(RefusalFault)
    /// The database is emptied, as if it had been deleted and created again.
    case reset
    /// The database is offline for this time.
    case offline(Duration)
}

/// An answer in place of the real one.
struct StatusFault: Sendable {
    var code: Int
    /// In seconds.
    var retryAfter: Int?
    /// Nil for the error body that a gateway would send.
    var body: String?
    var contentType = "text/html; charset=utf-8"
}

/// Which documents of a batch are refused, and with what status.
struct RefusalFault: Sendable {
    var share = 1.0
    /// Each refused document gets one of these at random.
    var statuses = [403]
    var reason = "refused on request"
}

extension FaultAction: CustomStringConvertible {
    var description: String {
        switch self {
        case .latency(let range): "latency \(Self.text(range)) ms"
        case .slice(let bytes, .zero): "slices of \(bytes.counted("byte"))"
        case .slice(let bytes, let pause): "slices of \(bytes.counted("byte")) with \(pause) between them"
        case .cut(let range): "cut after \(Self.text(range)) \(range.upperBound.inflected("byte"))"
        case .dropBefore: "dropped before it is processed"
        case .dropAfter: "dropped after it was processed"
        case .status(let status): "status \(status.code)"
        case .hang: "no answer"
        case .heartbeatsOnly(let pause): "only a heartbeat every \(pause)"
        case .lastSequenceEarly(let count): "last_seq after \(count.counted("row"))"
        case .duplicate(let share): "\(share) of the rows twice"
        case .reorder(let count): "rows shuffled in groups of \(count)"
        case .rewind(let count): "\(count.counted("sequence")) back"
        case .sessionExpired: "session expired"
        case .refuseDocuments(let refusal):
            "\(refusal.share) of the documents refused with "
                + refusal.statuses.map(String.init).joined(separator: ", ")
        case .reset: "database reset"
        case .offline(let time): "database offline for \(time)"
        }
    }

    private static func text(_ range: ClosedRange<Int>) -> String {
        range.count == 1 ? "\(range.lowerBound)" : "\(range.lowerBound) to \(range.upperBound)"
    }
}
