internal import LosslessJSON

/// Reads the JSON value at the beginning of a window, however long it takes to come.
struct ValueReader {
    enum Outcome {
        case value(JSONTape, end: Int)
        /// The offset of a value that the input cuts off is the window's end.
        case fault(JSONFault)
    }

    /// Bytes that a value may have.
    let limit: Int
    /// Nodes of the last value: documents of one input are alike.
    private var expectedNodes = 32

    init(limit: Int) { self.limit = limit }

    /// Does not depend on the pieces in which the value comes.
    mutating func read(_ window: inout TextWindow) -> Outcome {
        var frame: BracketFrame?
        var tape = JSONTape(minimumCapacity: expectedNodes)
        while true {
            let scanned = min(window.count, limit)
            do throws(JSONFault) {
                let end = try window.scan(into: &tape, upTo: limit)
                // A number may go on with what comes next.
                if end < scanned || tape.kind(of: 0) >= .string || !window.fill() {
                    expectedNodes = min(tape.count, 1 << 16)
                    return .value(tape, end: end)
                }
                tape.removeAll()
            } catch {
                guard error.reason == .unexpectedEnd else { return .fault(error) }
                guard scanned < limit else { return .fault(JSONFault(.tooLong(limit: limit), at: limit)) }
                var known = frame ?? BracketFrame()
                guard Self.waitForEnd(&known, in: &window, scanned: scanned, limit: limit) else {
                    return .fault(JSONFault(.unexpectedEnd, at: window.count))
                }
                frame = known
            }
        }
    }

    /// Reads on until the value may be complete, or until so much has come that a fault in it should be looked for.
    ///
    /// - Returns: False if nothing comes any more.
    private static func waitForEnd(
        _ frame: inout BracketFrame, in window: inout TextWindow, scanned: Int, limit: Int
    ) -> Bool {
        guard window.fill() else { return false }
        while true {
            if window.count >= min(2 * scanned, limit) { return true }
            if window.withText({ frame.hasEnd(in: $0) }) { return true }
            guard window.fill() else { return true }
        }
    }
}
